"""Decision processes in PRISM's explicit format, read back: the rules, the oracle's values, the folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import cached_oracle as oracle
from stored import contents
from tilebase import solve
from tilebase.cli import main
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.questions.prism import export_mdp

GAMES = [
    Game("2x2", 8),
    Game("2x2", 32),
    Game("2x2", 16, start="empty"),
    Game("2x2", 16, spawn=0),
    Game("2x2", 32, start="2,4/4,2"),
    Game("2x3", 8, spawn="1/3", walls=[1]),
    Game("2x2", 32, limits="16,8/8,4"),
    Game("2x2", 16, horizon=14),
    Game("2x2", goal_sum=12),
    Game("2x3", 8, masks="..x/...|.../..x", start="after 0,0,x/2,2,0", horizon=16),
    Game("2x3", 8, unmergeable=[0, 5], start="empty"),
]
START, LIVE, WON, LOST = range(4)
Choices = dict[int, list[tuple[str, dict[int, float]]]]


class Process:
    """The files of a folder, read as the manual of PRISM describes them; `AssertionError` if they differ."""

    def __init__(self, folder: Path) -> None:
        assert {path.name for path in folder.iterdir()} == {"mdp.sta", "mdp.tra", "mdp.lab"}
        head, *lines = (folder / "mdp.sta").read_text("ascii").splitlines()
        self.variables = head.strip("()").split(",")
        self.values: list[tuple[int, ...]] = []
        for number, line in enumerate(lines):
            found = re.fullmatch(r"(\d+):\((\d+(?:,\d+)*)\)", line)
            assert found is not None
            assert int(found[1]) == number
            self.values.append(tuple(map(int, found[2].split(","))))
            assert len(self.values[-1]) == len(self.variables)
        assert self.values == sorted(set(self.values))
        self.choices = self._choices((folder / "mdp.tra").read_text("ascii").splitlines())
        self.labels = self._labels((folder / "mdp.lab").read_text("ascii").splitlines())

    def _choices(self, lines: list[str]) -> Choices:
        states, choices, transitions = map(int, lines[0].split(" "))
        assert (states, transitions) == (len(self.values), len(lines) - 1)
        found: Choices = {state: [] for state in range(states)}
        for line in lines[1:]:
            state, choice, target, chance, action = line.split(" ")
            here = found[int(state)]
            assert int(choice) in (len(here) - 1, len(here))
            if int(choice) == len(here):
                here.append((action, {}))
            assert here[-1][0] == action
            assert int(target) not in here[-1][1]
            assert 0 < float(chance) <= 1
            here[-1][1][int(target)] = float(chance)
        assert sum(map(len, found.values())) == choices
        assert all(found.values())
        for here in found.values():
            assert [sum(chances.values()) for _, chances in here] == pytest.approx([1] * len(here), abs=1e-12)
            assert all(target < states for _, chances in here for target in chances)
        return found

    def _labels(self, lines: list[str]) -> dict[str, list[int]]:
        names = dict(re.findall(r'(\d+)="(\w+)"', lines[0]))
        found: dict[str, list[int]] = {name: [] for name in names.values()}
        for line in lines[1:]:
            state, _, numbers = line.partition(": ")
            for number in numbers.split(" "):
                found[names[number]].append(int(state))
        return found

    def best(self, label: str) -> float:
        """The largest probability to reach a label from the first state: sums only grow, so going back."""
        value = [0.0] * len(self.values)
        for state in reversed(range(len(value))):
            worths = [sum(p * value[to] for to, p in chances.items()) for _, chances in self.choices[state]]
            value[state] = 1.0 if state in self.labels[label] else max(worths)
        (first,) = self.labels["init"]
        return value[first]


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_the_files_are_the_rules(game: Game, tmp_path: Path) -> None:
    counts = export_mdp(game, tmp_path / "out")
    process = Process(tmp_path / "out")
    assert process.variables == ["phase", "sum", *(f"cell_{cell}" for cell in range(game.cells))]
    assert counts.states == len(process.values)
    assert counts.choices == sum(map(len, process.choices.values()))
    last = len(process.values) - 1
    assert process.labels == {"init": [0], "deadlock": [], "win": [last - 1], "lose": [last]}
    assert [values[0] for values in process.values] == [START, *[LIVE] * (last - 2), WON, LOST]
    boards = {values[2:]: state for state, values in enumerate(process.values) if values[0] == LIVE}
    assert [*map(game.sum, boards)] == [values[1] for values in process.values[1:-2]]
    known = (board for layer in oracle.reachable(game).values() for board in layer.states)
    assert set(boards) == {board for board in known if game.slides(board)}

    def led(states: list[tuple[Cells, Fraction]]) -> dict[int, float]:
        found: dict[int, Fraction] = {}
        for board, p in states:
            won = game.has_goal_sum(board)
            to = last - 1 if won else boards.get(canonical(game, board), last)
            found[to] = found.get(to, Fraction(0)) + p
        return {to: pytest.approx(float(p), abs=1e-15) for to, p in found.items()}

    assert process.choices[0] == [("start", led(game.starts()))]
    for board, state in boards.items():
        slides = game.slides(board)
        assert sorted("_".join(name for name, _ in process.choices[state]).split("_")) == sorted(slides)
        for name, chances in process.choices[state]:
            for direction in name.split("_"):
                after = slides[direction]
                ends = {last - 1: 1.0} if game.wins(after) else {last: 1.0}
                spawned = [] if game.wins(after) else game.spawns(after)
                assert chances == (led(spawned) if spawned else ends)
    for state in (last - 1, last):
        assert process.choices[state] == [("stay", {state: 1.0})]
    assert process.best("win") == pytest.approx(float(oracle.values(game).start), abs=1e-12)


def test_a_table_gives_the_process_of_its_game(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve(Game("2x2", 16, start="empty"), "moves", table=folder / "t", threads=1)
    assert main(["export", "mdp", "t", "-o", "a"]) == 0
    assert main(["export", "mdp", "2x2", "16", "--start", "empty", "-o", "b/"]) == 0
    assert contents(folder / "a") == contents(folder / "b")
    numbers = [f"{int(number):,}" for number in (folder / "a" / "mdp.tra").read_text().split(maxsplit=3)[:3]]
    said = "{} states up to symmetry, {} choices, {} transitions\n".format(*numbers)
    assert capsys.readouterr().out == f"a: {said}b: {said}"


def test_an_earlier_folder_is_replaced_and_no_other(folder: Path, refused: Callable[..., None]) -> None:
    for goal in (16, 8):
        counts = export_mdp(Game("2x2", goal), folder / "a")
        assert (folder / "a" / "mdp.tra").read_text().startswith("{} {} {}\n".format(*counts))
    assert sorted(path.name for path in folder.iterdir()) == ["a"]
    (folder / "a" / "notes").write_text("mine")
    before = contents(folder / "a")
    refused(["export", "mdp", "2x2", "8", "-o", "a"], 2, "a holds other files than a decision process")
    assert contents(folder / "a") == before
    (folder / "a" / "notes").unlink()
    (folder / "a" / "mdp.lab").write_text('0="init"\n0: 0\n')
    refused(["export", "mdp", "2x2", "8", "-o", "a"], 2, "a holds other files than a decision process")
