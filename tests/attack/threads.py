"""Other numbers of threads, other memory: identical files."""

from __future__ import annotations

import random
import re

from attack.case import Case
from attack.processes import contents, run
from attack.random_games import random_game
from attack.workloads import BATCHED, plain, plain_file, small_memory

MEMORIES = ("401MiB", "450MiB", "1GiB", "4GiB")


def attack(case: Case) -> None:
    """One drawn twice, with different threads and memory."""
    rng, windows = case.rng, False
    if rng.random() < 0.3:
        drawn, windows = large_count(rng), True
    elif rng.random() < 0.5:
        drawn = random_game(rng, 2_000).command
    else:
        drawn = rng.choice((["3x3", "32"], ["2x4", "32"], ["3x3", "64", "--start", "empty"], [*BATCHED]))
    lookahead = (
        [] if any("goal-sum" in word for word in drawn) else ["--lookahead"]
    )  # a sum is not won by a slide
    command = rng.choice(
        (
            ["count", *drawn, "--keep", "states", "-o", "w"],
            ["count", *drawn, "--keep", "afterstates", "-o", "w", *lookahead],
            ["solve", *drawn, "--objective", "moves,longest", "-o", "w"],
            ["solve", *drawn, "--objective", "score:float32,survival", "-o", "w"],
            ["solve", *BATCHED, "--objective", "lower,guaranteed", "--space", "all", "-o", "w"],
        )
    )
    if windows:
        command = ["count", *drawn, "--keep", "afterstates", "-o", "w"]
    found = []
    for number in range(2):
        memory = rng.choice(MEMORIES)
        if "all" in command and number:
            memory = small_memory()
        options = ["--threads", str(rng.choice((1, 2, 3, 5, 8))), "--memory", memory, "-q"]
        folder = case.folder / str(number) / "here"
        done = run(folder, [*command, *options], seconds=300, windows=windows and bool(number))
        lines = f"tilebase {' '.join([*command, *options])}{', two blocks of a layer in memory' * windows}"
        case.done["runs"] += 1
        if done.status == 1 and re.search(
            "give more memory|it needs .* of memory, and .* may be used", done.err
        ):
            return
        if done.status or done.complaint:
            case.fail(f"{command[0]}: does not end well", f"{done.complaint} {done.sentence}", lines)
            return
        found.append((plain(done.out), contents(folder), lines))
    case.done["pairs, one with windows" if windows else "pairs"] += 1
    (out, files, first), (other_out, others, second) = found
    case.expect(
        out == other_out, f"{command[0]}: another answer", f"{out!r} and {other_out!r}", f"{first}\n{second}"
    )
    differ = [
        name
        for name in sorted(files.keys() | others.keys())
        if plain_file(name, files.get(name, b"")) != plain_file(name, others.get(name, b""))
    ]
    case.expect(not differ, f"{command[0]}: other files", ", ".join(differ[:5]), f"{first}\n{second}")


def large_count(rng: random.Random) -> list[str]:
    """A game whose layers have several blocks, often from a board."""
    shape, goal = rng.choice(
        (("3x4", 64), ("3x4", 512), ("4x4", 16), ("4x4", 64), ("2x6", 128), ("2x2x3", 64))
    )
    cells = 1
    for size in shape.split("x"):
        cells *= int(size)
    tiles = [rng.choice((0, 2, 2, 4, 4, 8, 8, goal // 2)) for _ in range(cells)]
    while not 30 < sum(tiles) < 130:
        tiles = [rng.choice((0, 2, 2, 4, 4, 8, 8, goal // 2)) for _ in range(cells)]
    words = [
        shape,
        str(goal),
        "--start",
        ",".join(map(str, tiles)),
        "--up-to",
        str(sum(tiles) + rng.choice((4, 8))),
    ]
    if rng.random() < 0.3:
        words += ["--limits", ",".join(str(goal // 2) for _ in range(cells)), "--pattern", "pair"]
    return words
