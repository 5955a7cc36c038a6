"""Records what environments of other packages do with boards: run it in an environment that has one of them.

    python tests/packages/record.py gymnasium-2048 > tests/packages/gymnasium-2048.tsv

Each line is a state of 4x4, which actions the package calls legal, and the board after each action and its
spawn, ``-`` where an action was not taken.  Boards are the exponents as hexadecimal digits.  It imports
nothing of tilebase.  tests/test_packages.py reads the files.
"""

from __future__ import annotations

import importlib.metadata
import random
import sys
from typing import Any

STATES = 30


def digits(board: Any) -> str:
    return "".join(f"{int(e):x}" for row in board for e in (row if hasattr(row, "__len__") else [row]))


def boards(rng: random.Random) -> list[list[int]]:
    """Random boards, half of them nearly full, without a tile of 2,048."""
    return [
        [rng.choice((0, 0, 1, 1, 2, 3, 4, 10) if k % 2 else (1, 1, 2, 2, 3, 4, 5, 0)) for _ in range(16)]
        for k in range(STATES)
    ]


def gymnasium_2048(rng: random.Random) -> Any:
    import numpy as np
    from gymnasium_2048.envs import TwentyFortyEightEnv

    env = TwentyFortyEightEnv()
    for cells in boards(rng):
        board, legal, after = np.array(cells, dtype=np.uint8).reshape(4, 4), "", []
        for action in range(4):
            env.reset(seed=rng.randrange(1 << 30))
            env.board = board.copy()
            _, _, _, _, info = env.step(action)
            legal += str(int(info["is_legal"]))
            after.append(digits(env.board) if info["is_legal"] else "-")
        yield digits(board), legal, after


def open_spiel(rng: random.Random) -> Any:
    import pyspiel

    def cells(state: Any) -> str:
        tiles = [int(word) for word in str(state).split()]
        return "".join(f"{tile.bit_length() - 1 if tile else 0:x}" for tile in tiles)

    def spawn(state: Any) -> None:
        while state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, chances)[0])

    game = pyspiel.load_game("2048")
    seen = 0
    while seen < STATES:
        state = game.new_initial_state()
        spawn(state)
        while not state.is_terminal():
            legal, after = state.legal_actions(), []
            for action in range(4):
                copy = state.clone()
                if action in legal:
                    copy.apply_action(action)
                    spawn(copy)
                after.append(cells(copy) if action in legal else "-")
            mask = "".join(str(int(action in legal)) for action in range(4))
            if rng.random() < 0.1 or mask.count("1") == 1:
                yield cells(state), mask, after
                seen += 1
            state.apply_action(rng.choice(legal))
            spawn(state)


def jumanji(rng: random.Random) -> Any:
    import jax
    from jumanji.environments import Game2048

    env = Game2048(board_size=4)
    step = jax.jit(env.step)
    for cells in boards(rng):
        state, _ = env.reset(jax.random.PRNGKey(rng.randrange(1 << 30)))
        board = jax.numpy.array(cells, dtype=state.board.dtype).reshape(4, 4)
        mask = env._get_action_mask(board)
        state.board, state.action_mask = board, mask
        after = []
        for action in range(4):
            following, _ = step(state, action)
            after.append(digits(following.board.tolist()) if mask[action] else "-")
        yield digits(board.tolist()), "".join(str(int(x)) for x in mask), after


def pgx(rng: random.Random) -> Any:
    import jax
    from pgx.play2048 import Play2048

    env = Play2048()
    step = jax.jit(env.step)
    state = env.init(jax.random.PRNGKey(0))
    for _ in range(STATES * 3):
        legal = [int(x) for x in state.legal_action_mask]
        after = []
        for action in range(4):
            following = step(state, action, jax.random.PRNGKey(rng.randrange(1 << 30)))
            after.append(digits(following._board.tolist()) if legal[action] else "-")
        if rng.random() < 0.3:
            yield digits(state._board.tolist()), "".join(map(str, legal)), after
        if state.terminated:
            state = env.init(jax.random.PRNGKey(rng.randrange(1 << 30)))
        else:
            action = rng.choice([a for a in range(4) if legal[a]])
            state = step(state, action, jax.random.PRNGKey(rng.randrange(1 << 30)))


PACKAGES = {"gymnasium-2048": gymnasium_2048, "open-spiel": open_spiel, "jumanji": jumanji, "pgx": pgx}

if __name__ == "__main__":
    name = sys.argv[1]
    print(f"# {name} {importlib.metadata.version(name)}")
    print("board\tlegal\tafter")
    for board, mask, following in PACKAGES[name](random.Random(1)):
        print(board, mask, ",".join(following), sep="\t")
