"""What each result says in a sentence that can be cited: the game with its rules, the question, the value.

A record of `solve`, `count`, `force`, `lemma`, `evaluate` or `reach` holds what `Statement.as_dict` returns,
and `claims.results` reads that and nothing else.  A value has the text that its command prints, and its
type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilebase.game.game import Game
from tilebase.game.names import random_start_words, spawn_words, start_words, title_of
from tilebase.objectives.numbers import estimate_text
from tilebase.runtime.documents import to_json

if TYPE_CHECKING:
    from tilebase.counting.combinatorics import BoundResult
    from tilebase.counting.counts import CountResult
    from tilebase.objectives.results import Solution
    from tilebase.patterns.checkerboards import Checkerboard
    from tilebase.patterns.checking import LemmaCheck
    from tilebase.patterns.filling import Filled
    from tilebase.patterns.reach import Reach
    from tilebase.patterns.replays import Replay
    from tilebase.patterns.rules import Rules
    from tilebase.patterns.shortest import Shortest
    from tilebase.patterns.tallies import Tally
    from tilebase.questions.bounds import ProvedBound
    from tilebase.questions.distributions import Distributions
    from tilebase.questions.exact import ExactSolution
    from tilebase.questions.force import Forced, Largest, StartVerdict
    from tilebase.questions.lemma import FillingSample, PatternCheck
    from tilebase.questions.policies import Evaluation
    from tilebase.questions.simulation import Simulation
    from tilebase.questions.symbolic import Symbolic

Asked = tuple[str, str, str]
"""A question, its answer as text, and the type of that."""
VERDICTS = {True: ("yes", "verdict"), False: ("no", "verdict"), None: ("undecided", "unknown")}
"""What is said of a question that is decided or not, and the type of that."""


@dataclass(frozen=True)
class Statement:
    """A result in a sentence, and its parts: what is played and asked, the answer, and its type.

    If it has several, the `answers` are those to each question.
    """

    board: str
    question: str
    value: str
    kind: str
    text: str
    answers: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: the sentence, and the parts as the ``claim``."""
        answers = dict(self.answers) or {self.question: self.value}
        parts = {
            "board": self.board, "question": self.question, "value": self.value, "kind": self.kind,
            "answers": answers,
        }  # fmt: skip
        return {"statement": self.text, "claim": parts}


def rules_of(game: Game) -> str:
    """Return how play begins and what is spawned, in words with a blank in front."""
    return f" from {random_start_words(game)}, spawns of {game.spawn.words}"


def _answered(game: Game, asked: Sequence[Asked], *, rules: str, proved: Iterable[str] = ()) -> Statement:
    """Return a statement of several answers; those in proved sentences are left out of its own sentence."""
    return _told(title_of(game), asked, rules=rules, proved=proved)


def _told(board: str, asked: Sequence[Asked], *, rules: str, proved: Iterable[str] = ()) -> Statement:
    """Return the same of a board with a title."""
    sentences = list(proved)
    untold = [one for one in asked if one[2] not in ("lower", "upper")] if sentences else asked
    if untold:
        told = "; ".join(f"{question}: {value} ({kind})" for question, value, kind in untold)
        sentences.insert(0, f"2048 on {board}{rules}: {told}.")
    questions, values, kinds = zip(*asked, strict=True)
    return Statement(
        board, ", ".join(questions), ", ".join(values), " and ".join(dict.fromkeys(kinds)),
        " ".join(sentences), dict(zip(questions, values, strict=True)),
    )  # fmt: skip


# -- values ---------------------------------------------------------------------------------------


def of_solution(solution: Solution, bounds: Sequence[ProvedBound] = ()) -> Statement:
    """Return what a solution says, with the sentences of its proved bounds."""
    rules = rules_of(solution.game)
    if not solution.complete:
        reached = [layer.sum for layer in solution.layers[0]]
        most = f" of the sum {min(reached)} or more" if reached else ""
        what = ", ".join(one.text for one in solution.objectives)
        what += f", of {solution.unit}{most} (not complete)"
        solved = f"{solution.positions:,} {solution.unit} solved"
        return _answered(solution.game, [(what, solved, "exact")], rules=rules)
    asked = [
        (one.text, str(value), value.kind)
        for one, value in zip(solution.objectives, solution.start.values(), strict=True)
    ]
    return _answered(solution.game, asked, rules=rules, proved=_proved(bounds))


def of_bounds(bounds: Sequence[ProvedBound]) -> Statement:
    """Return what proved bounds of one game say."""
    asked = [(one.objective.text, str(one.bounded), one.direction) for one in bounds]
    return _answered(bounds[0].game, asked, rules=rules_of(bounds[0].game), proved=_proved(bounds))


def _proved(bounds: Sequence[ProvedBound]) -> list[str]:
    """Return the sentences of bounds; an upper bound of 1 has none, and a lower one of 0."""
    return [one.statement for one in bounds if not one.is_vacuous]


def of_exact(solution: ExactSolution) -> Statement:
    """Return what a solution in fractions says; a long fraction is rounded to a decimal."""
    kind = "exact" if solution.text == str(solution.start) else "rounded"
    return _answered(solution.game, [(solution.title, solution.text, kind)], rules=rules_of(solution.game))


# -- counts ---------------------------------------------------------------------------------------


def of_counts(result: CountResult) -> Statement:
    """Return what counts say: of all layers, or of those that were counted."""
    what = "states, live states and afterstates, up to symmetry"
    if result.lookahead:
        what += ", without states that are won or lost within one move"
    if not result.complete:
        what += f", of the sums up to {max(result.sums, default=0)} (not complete)"
    value = ", ".join(f"{result.total(name):,} {name}" for name in ("states", "live", "afterstates"))
    return _answered(result.game, [(what, value, "exact")], rules="")


def of_combinatorics(result: BoundResult) -> Statement:
    """Return what a count without playing says."""
    asked = [
        ("boards within the limits", f"{result.boards:,}", "exact"),
        ("upper bound of the number of states", f"{result.possible:,}", "upper"),
        ("boards up to symmetry", f"{result.canonical_boards:,}", "exact"),
        ("upper bound of the number of states up to symmetry", f"{result.canonical_possible:,}", "upper"),
    ]
    return _answered(result.game, asked, rules="")


def layers_checksum(document: Any) -> dict[str, str]:
    """Return the SHA-256 of the layers of a record, in order, as the member ``checksum``; nothing without.

    It is that of their canonical JSON without means, which may be rounded otherwise with other threads.
    """
    if not document.get("layers"):
        return {}
    rows = [{name: value for name, value in row.items() if name != "mean"} for row in document["layers"]]
    return {"checksum": hashlib.sha256(to_json(rows, "canonical").encode()).hexdigest()}


# -- what is forced -------------------------------------------------------------------------------


def of_forced(found: Forced) -> Statement:
    """Return the verdict of a goal."""
    value, kind = VERDICTS[found.forced]
    board = title_of(found.game)
    return Statement(board, "whether the goal can be forced", value, kind, f"{found.statement}.")


def of_symbolic(found: Symbolic) -> Statement:
    """Return the verdict of decision diagrams."""
    how = {
        "adversarial": "can be forced",
        "cooperative": "can be made if spawns help",
        "deterministic": "can be forced if spawns are on the first empty cell",
    }[found.rules.variant]
    value, kind = VERDICTS[found.slider_wins]
    return Statement(title_of(found.game), f"whether the goal {how}", value, kind, f"{found.statement}.")


def of_largest(found: Largest) -> Statement:
    """Return the largest tile that is forced on a board."""
    game, question = found.game, "largest tile that can be forced"
    value, kind = (str(found.tile), "verdict") if found.exact else (f"at least {found.tile}", "lower")
    limits = "" if game.limits is None else f" within the limits {game.limits_text}"
    text = (
        f"2048 on {found.shape}, from {start_words(game)}: {question}{limits} against every spawn of "
        f"{spawn_words(game)}: {value} ({kind})."
    )
    return Statement(f"{found.shape}{limits}", question, value, kind, text)


def of_starts(game: Game, starts: Sequence[StartVerdict]) -> Statement:
    """Return from how many starts of two tiles a goal is forced."""
    forced = sum(one.boards for one in starts if one.forced)
    every = sum(one.boards for one in starts)
    undecided = sum(one.boards for one in starts if one.forced is None)
    value = f"{forced} of {every}" + (f", {undecided} undecided" if undecided else "")
    what = f"starts of two tiles from which the goal can be forced against every spawn of {spawn_words(game)}"
    return _answered(game, [(what, value, "exact")], rules="")


def of_pattern(found: PatternCheck, fillings: str | None) -> Statement:
    """Return whether all fillings of a pattern are won."""
    game, so_many = found.game, "" if found.within is None else f", within {found.within} slides"
    value = "yes"
    if not found.holds:
        value = f"no, not from {game.format(found.board)}"
    elif found.slides is not None:
        value = f"yes, all {found.fillings:,} boards, within {found.slides} slides"
    return _answered(game, [(_every_filling(game, fillings) + so_many, value, "verdict")], rules="")


def of_sample(found: FillingSample, fillings: str | None) -> Statement:
    """Return what random fillings of a pattern show: a lost one refutes it, and won ones prove nothing."""
    game = found.game
    value = f"{found.won:,} of {found.fillings:,} random boards win, {found.undecided:,} are undecided"
    kind = "sampled"
    if found.lost:
        value, kind = f"no, not from {game.format(found.lost[0])}", "verdict"
    return _answered(game, [(_every_filling(game, fillings), value, kind)], rules="")


def of_set(game: Game, boards: int, least: int | None, lost: str | None) -> Statement:
    """Return whether a winning set holds all fillings of a pattern, of those with a sum that it has."""
    part = "" if least is None else f" with a sum of {least} or more"
    value = f"yes, all {boards:,} boards" if lost is None else f"no, not from {lost}"
    return _answered(game, [(_every_filling(game, None) + part, value, "verdict")], rules="")


def _every_filling(game: Game, fillings: str | None) -> str:
    return (
        f"whether {game.goal} can be forced against every spawn of {spawn_words(game)} from every board that "
        f"holds the pattern{within_fillings(fillings)}"
    )


def within_fillings(fillings: str | None) -> str:
    """Return which fillings of a pattern are meant, with a blank in front; empty if all are."""
    return "" if fillings is None else f" with the tiles that {fillings} allows"


# -- what helpful drops reach ----------------------------------------------------------------------


def _reached(rules: Rules, asked: Sequence[Asked]) -> Statement:
    """Return what is said of games from the empty board."""
    where = {
        None: "on any empty cell", "rows": "on the topmost, then leftmost empty cell",
        "columns": "on the leftmost, then topmost empty cell",
    }[rules.convention]  # fmt: skip
    return _told(str(rules), asked, rules=f" from the empty board, drops {where}")


def _drops(rules: Rules) -> str:
    return " and ".join(f"{1 << exponent}s" for exponent in rules.drops)


def of_reach(found: Reach) -> Statement:
    """Return whether a board can be reached."""
    turn = "an afterstate" if found.afterstate else "a state"
    what = f"whether {found.rules.text(found.position)}, {turn}, can be reached with {_drops(found.rules)}"
    return _reached(found.rules, [(what, *VERDICTS[found.reachable])])


def of_checkerboards(verdicts: Sequence[Checkerboard], counted: Tally | None) -> Statement:
    """Return which checkerboards can be reached, and by how many sequences if they were counted."""
    asked: list[Asked] = []
    for one in verdicts:
        what = f"the checkerboard with a {one.colouring} in the corner, with drops of {_drops(one.rules)}"
        asked.append((f"whether play reaches {what}", *VERDICTS[one.reachable]))
        if counted is not None:
            asked.append((f"sequences of moves to {what}", f"{counted[one.colouring]:,}", "exact"))
    return _reached(verdicts[0].rules, asked)


def of_filled(found: Filled) -> Statement:
    """Return whether a board can be filled, and by how many drops."""
    value, kind = VERDICTS[found.possible]
    value += f", by {found.drops:,} drops" if found.possible else ""
    what = "whether drops of 2s can fill the board with 2s and 4s, without an 8"
    return _reached(found.rules, [(what, value, kind)])


def of_shortest(found: Shortest) -> Statement:
    """Return the fewest drops after which no slide is left, or their bounds."""
    what = "fewest drops of 2s after which no slide is left"
    if found.drops is None:
        return _reached(found.rules, [(what, f"at least {found.lower}", "lower")])
    if found.proved:
        return _reached(found.rules, [(what, str(found.drops), "exact")])
    return _reached(found.rules, [(what, f"{found.lower} to {found.drops}", "interval")])


def of_lemmas(rules: Rules, most_sum: int | None, checks: Sequence[LemmaCheck]) -> Statement:
    """Return which lemmas hold for every position that can be reached."""
    part = "without an 8" if most_sum is None else f"with a sum of at most {most_sum}"
    what = f"for every position that drops of {_drops(rules)} reach, {part}: lemma"
    return _reached(rules, [(f"{what} {one.lemma.number}", one.verdict, "verdict") for one in checks])


def of_replay(found: Replay) -> Statement:
    """Return where the moves of a game lead."""
    return _reached(found.rules, [(f"the board after {found.text}", found.boards[-1], "exact")])


# -- policies -------------------------------------------------------------------------------------


def of_evaluation(game: Game, found: Evaluation) -> Statement:
    """Return what a policy is worth, and optimal play."""
    kind = "rounded" if found.games is None else f"mean of {found.games:,} games"
    asked = [
        (f"{found.objective.text}, by the policy {found.player}", found.text, kind),
        (f"{found.objective.text}, under optimal play", str(found.start), found.start.kind),
    ]
    return _answered(game, asked, rules=rules_of(game))


def of_simulation(game: Game, found: Simulation) -> Statement:
    """Return the mean of games played by a table."""
    objective = found.objective
    what = objective.text if objective.is_mean and not objective.is_bound else f"value of {objective.name}"
    if objective.is_win and objective.discount == 1:
        what = "probability to win"
    what += f", by the policy of a table for {objective.name}"
    mean = estimate_text(found.mean, found.error), f"mean of {found.games:,} games"
    return _answered(game, [(what, *mean)], rules=rules_of(game))


def of_distributions(game: Game, found: Distributions) -> Statement:
    """Return the means of distributions, and the probabilities to meet boards."""
    by = f"by the policy {found.player}"
    asked = [
        (f"mean of the {name} at the end, {by}", one.mean_text, "rounded") for name, one in found.of.items()
    ]
    asked += [
        (f"probability to meet {board}, {by}", found.meets_text(board), "rounded") for board in found.meets
    ]
    return _answered(game, asked, rules=rules_of(game))
