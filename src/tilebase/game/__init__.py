"""The game: its rules in plain Python, boards, symmetries, and the arrays that kernels take.

notation    how shapes, tiles, probabilities and boards are written
game        the parameters and rules of a game; every engine must agree with them
symmetry    the permutations of cells that keep a game the same
board       one board as a value, drawn and written
compiled    a game as arrays for the kernels on packed keys
"""
