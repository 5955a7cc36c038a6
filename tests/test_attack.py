"""The attacks of ``scripts/attack`` in a quick form: seeds that each found something once."""

from __future__ import annotations

import pytest

from attack.__main__ import ATTACKS, run_case

SEEDS = {
    "games": (108, 128, 195, 213, 301, 309, 391),
    "formations": (24, 366, 397),
    "calls": (0, 100, 200),
    "kills": (22, 40, 42, 61, 69, 71, 96, 142),
    "flips": (9, 14, 62, 79, 5502, 5792),
    "faults": (2, 17, 32, 35),
    "hostile": (6, 19, 51, 116),
    "commands": (0, 1, 2, 3, 4, 5),
    "certificates": (0, 1),
    "servers": (5,),
    "threads": (9, 26),
}
CASES = [(name, seed) for name in ATTACKS for seed in SEEDS[name]]


def test_every_attack_has_a_quick_form() -> None:
    assert set(SEEDS) == set(ATTACKS)


@pytest.mark.parametrize(("name", "seed"), CASES, ids=[f"{name}-{seed}" for name, seed in CASES])
def test_attack(name: str, seed: int) -> None:
    failures, done = run_case(name, seed)
    assert sum(done.values()), "nothing was tried"
    if failures:
        pytest.fail("\n".join(map(str, failures)), pytrace=False)
