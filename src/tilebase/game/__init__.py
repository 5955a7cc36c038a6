"""The game: its rules in plain Python, boards, symmetries, and the arrays that kernels take.

Modules, those that the others import first:

    grid        the cells of a board: lines, neighbours, symmetries, rows as text
    notation    how tiles, probabilities and boards are written
    checks      what is refused when a game is made
    patterns    tiles on cells that win
    masks       the cells on which large tiles must stand after each slide
    game        the parameters and rules of a game; every engine must agree with them
    formations  where large tiles stand in endgames, by name, and the games that follow
    symmetry    the permutations of cells that keep a game the same
    statements  a game in words, for statements that can be cited
    board       one board as a value, drawn and written
    records     written games: saved games, replays, lists of positions
    compiled    a game as arrays for the kernels on packed keys
"""
