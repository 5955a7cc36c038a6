"""Sets of boards as decision diagrams, and solving with whole sets instead of single boards.

* `library`: the OxiDD library and its memory.
* `sets`: sets of boards, their preimages under slides and spawns, the variables of a cell and their order.
* `strategies`: retrograde analysis by layers, by sweep lines, or with one growing set; its checkpoints.
* `export`: a winning set as a folder, which is read without OxiDD.
* `proofs`: certificates from winning sets.
* `worker`: the process in which diagrams live, so that the library cannot end the program.

The algorithms follow Edixhoven, *Checkerboard Patterns and Binary Decision Diagrams for the Game 2048*
(2019), sections 5 and 6.  docs/diagrams.md says what is different here, and what was measured.
"""
