"""Which boards can be reached at all, if both sides want it: checkerboards, full boards, the shortest games.

* `rules`: slides and drops on boards of any size.
* `moves`: sequences of moves, written, read and replayed.
* `replays`: games given as text, with their positions and pictures.
* `tracing`: which tile goes where.
* `lemmas`: what holds for every position that can be reached.
* `exploration`: every position that a small board can reach.
* `checking`: the lemmas on all of these positions.
* `constructions`: sequences that fill boards of any size with checkerboards.
* `tallies`: how many sequences lead to a position, and recurrences in such counts.
* `backward`: searches from positions back to the empty board.
* `onward`: forward searches for games that fill a board.
* `checkerboards`, `filling`, `shortest`: the questions.
* `strips`: sequences as pictures.

The questions are those of Edixhoven, *Checkerboard Patterns and Binary Decision Diagrams for the Game 2048*
(2019), chapters 3 and 4.  docs/checkerboards.md says what was found.
"""
