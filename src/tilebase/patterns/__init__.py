"""Which boards can be reached if the spawns help: checkerboards, full boards, the shortest games.

The modules, in reading order.  Rules and games:

* `rules`: slides and drops on boards of any size.
* `moves`: sequences of moves, written, read, replayed and carried to another image of the board.
* `strips`: sequences as pictures.

What holds for every position:

* `lemmas`: the lemmas of the thesis, as predicates.
* `checking`: every position that a small board can reach, and the lemmas on all of them.

Checkerboards:

* `tallies`: positions of 2s and 4s as rows of bits, and how many sequences lead to a checkerboard.
* `checkerboards`: which checkerboards can be reached, by theorems, constructions and searches.

Any board, and short games:

* `searching`: what a search may use, until when, and its seed; what it finds; a search breadth first.
* `packed`: searches from positions back to the empty board, and from a position on to a full board.
* `filling`: games that fill a board with 2s and 4s, and boards that a few drops more make.
* `reach`: whether a given board can be reached, and by which moves.
* `shortest`: the fewest drops after which no slide is left.

A *drop* is a new tile on any empty cell, put there by someone who helps.  A *position* is a board with the
player to move, or with a drop to come.  Both are the words of Edixhoven, *Checkerboard Patterns and Binary
Decision Diagrams for the Game 2048* (2019), whose questions in sections 3 and 4 these are.
docs/reach.md says what was found.
"""
