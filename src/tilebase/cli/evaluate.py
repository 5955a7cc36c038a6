"""``tilebase evaluate``: the value of a policy, computed and not sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tilebase.cli.options import Options, ShownOptions, UseOptions
from tilebase.cli.output import MOST_ROWS, PLANNING, Shown, plannable
from tilebase.cli.probe import LocalTableArgument, check_order
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.names import title_of
from tilebase.objectives.numbers import digits_text, ends_text
from tilebase.pictures import PICTURES
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.policies.distributions import Distributions

WORST = 5
"""Decisions of an agent that are printed; JSON has more."""


@dataclass(frozen=True)
class AgentOptions(Options):
    """How a function is asked, and over how many states."""

    states: int | None = None
    """Refuse a function that can reach more states. Default: 2,000,000 with --distribution or --meets, where
    a state takes 1 kB of memory."""
    symmetry: Literal["canonical", "check", "none"] | None = None
    """How a policy treats rotated and mirrored boards: alike, which is checked on some (check, the default
    with --asked or --returns, and for functions of arrays); differently (none, the default for other
    functions); or it receives only one of each orbit (canonical)."""
    asked: Literal["board", "batch", "one", "predict"] | None = None
    """What a function receives: a tilebase.Board (board), or arrays of exponents and allowed actions, of many
    boards (batch) or of one (one); predict calls this method. See docs/policies.md."""
    returns: bool = False
    """Do not discount the first slide, as in reinforcement learning."""


@dataclass(frozen=True)
class SampleOptions(Options):
    """Random games in place of all."""

    games: int | None = None
    """Play this number of random games, and print the mean and its standard error."""
    seed: int = 0
    """The same seed gives the same games."""


@dataclass(frozen=True)
class EndsOptions(Options):
    """What is printed of all games in place of a value."""

    distribution: str | None = None
    """Print how games end instead: tile, length or score, several with commas."""
    resolution: int = 1
    """Number of lengths or scores that share a row of a distribution."""
    meets: list[str] | None = None
    """Print the probability that a game reaches this board; may be repeated."""


@plannable
def evaluate(
    table: LocalTableArgument,
    policy: Annotated[
        str | None,
        Parameter(
            help="random, greedy, the folder of another table of the same game, or module:function, "
            "which runs the code of that module, also from the current folder. Default with "
            "--games: the table plays."
        ),
    ] = None,
    *,
    objective: Annotated[
        str | None,
        Parameter(
            help="Objective of the table. A POLICY that is a table plays by this objective, or if it "
            "lacks it, by its first."
        ),
    ] = None,
    agent: AgentOptions = AgentOptions(),
    sample: SampleOptions = SampleOptions(),
    ends: EndsOptions = EndsOptions(),
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Compute what a policy is worth, and what it loses.

    The value is exact but for rounding: no games are played. A function takes a tilebase.Board and returns a
    direction, or directions with probabilities. It is judged over the states that it can reach. The decisions
    that cost most are printed, and --record FILE.svg draws the losses by sum and by largest tile. If these
    states are too many, --games plays random games instead. A function of batches of boards (--asked batch)
    is judged about 50 times as fast; --symmetry none says that it treats turned boards differently. To
    compare several policies, use tilebase.policies.compare in Python.

    Without a policy, --games lets the table play, and compares the mean with the value of the table. z is the
    difference in standard errors, beyond what rounding explains; if it is above 4, something is wrong. The
    wins also give an interval (Clopper-Pearson) that contains the probability to win with a confidence of
    99.99 %. It replaces z if few wins are expected. If the table plays for a bound, a forced win or luck, the
    mean of wins, slides or scores is printed.

    tilebase evaluate 3x3-512/ random

    tilebase evaluate 3x3-512/ --games 100000

    tilebase evaluate 3x3-score/ --distribution tile,score --resolution 100 --record ends.svg

    tilebase evaluate 3x3-512/ agent:corner --games 1000

    tilebase evaluate 3x3-512/ agent:network --asked batch --symmetry check
    """
    by_symmetry = (agent.symmetry or agent.asked) is not None or agent.returns
    judged = sample.games is None and (by_symmetry or ":" in (policy or ""))
    ended = ends.distribution is not None or bool(ends.meets)
    if ended and (agent.returns or sample.games is not None):
        raise UsageError("--distribution and --meets follow all games: leave --games and --returns out")
    if policy is None and (by_symmetry or (sample.games is None and not ended)):
        raise UsageError("name a POLICY (random, greedy, a table or module:function), or give --games alone")
    if policy is not None:
        check_order("evaluate", table, policy)
    show = shown.checked(PICTURES if ends.distribution is not None or judged else ())
    prepare_kernels()
    guide: Any = table if policy is None else policy
    if policy is not None and agent.asked is not None:
        from tilebase.policies.asking import as_policy, find_policy
        from tilebase.tables.probe import open_table

        with open_table(table) as opened:
            guide = as_policy(find_policy(policy), opened.game, asked=agent.asked)
            guide.name = policy
    if ended:
        from tilebase.policies.distributions import MOST_STATES, distributions

        names = ends.distribution.split(",") if ends.distribution else ()
        with counting_progress() as progress:
            every = distributions(
                table, guide, of=names, resolution=ends.resolution, boards=ends.meets or (),
                objective=objective, states=agent.states or MOST_STATES, symmetry=agent.symmetry,
                **run.use(progress),
            )  # fmt: skip
        return _print_distributions(every, show)
    from tilebase.policies import evaluation as policies
    from tilebase.policies.simulation import CONFIDENCE

    if PLANNING.get():
        from tilebase.policies.asking import find_policy
        from tilebase.runtime.resources import Allowance
        from tilebase.tables.probe import open_table

        with open_table(table) as opened:
            guide, allowed = find_policy(guide), Allowance.of(**run.use())
            symmetry = agent.symmetry or ("check" if agent.returns else None)
            row = policies.expected_cost(opened, guide, allowed, sample.games, symmetry).row()
        return show.plan(row, game=opened.game)
    with counting_progress() as progress:
        found = policies.evaluate(
            table, guide, objective=objective, states=agent.states, symmetry=agent.symmetry,
            returns=agent.returns, **vars(sample), **run.use(progress),
        )  # fmt: skip
    if found.judged is None and show.recorded == "picture":
        raise UsageError("the losses of this policy were not found by state: record them as JSON or CSV")
    title = f"{'return: ' * agent.returns}{found.objective}"
    rows: list[dict[str, Any]] = [{"": found.player, title: found.text}]
    if found.start.kind != "unknown":
        rows.append({"": "optimal", title: str(found.start)})
        if found.z is None:  # else games lose by chance alone
            rows.append({"": "regret", title: found.regret_text})
    if found.games is not None:
        rows += [{"": "games", title: f"{found.games:,}"}, {"": "won", title: f"{found.wins:,}"}]
    if found.interval is not None:
        sure = digits_text(100 * CONFIDENCE)
        rows.append({"": f"to win, {sure} % sure", title: ends_text(*found.interval)})
    if found.z is not None:
        rows.append({"": "z", title: f"{found.z:.2f}"})
    if found.judged is not None:
        how = "up to symmetry" if found.judged.turned else "without symmetry"
        rows.append({"": f"live states reached, {how}", title: f"{found.states:,}"})
        rows.append({"": "best slides", title: found.judged.optimal_text})
        rows += [
            {"": "costs most", title: f"{one.statement}: {digits_text(one.regret)}"}
            for one in found.judged.worst[:WORST]
        ]
    data = found.as_dict()
    flat = {name: data[name] for name in found.facts if name not in ("interval", "judged")}
    drawn = f"{title_of(found.game)}, by {policy}"
    show.write(
        rows, data, data=[flat | {"objective": found.objective.label}], game=found.game,
        draw=lambda plots, file: plots.plot_regret(found.judged, file, drawn),
    )  # fmt: skip
    return 0


def _print_distributions(found: Distributions, show: Shown) -> int:
    """Print how games end, and the probabilities to meet boards; draw the distributions if asked."""
    from tilebase.policies.distributions import NAMES

    rows = [row for one in found.of.values() for row in one.rows()]
    read = [row for one in found.of.values() for row in one.text_rows()]
    for board, p in found.meets.items():
        text = found.meets_text(board)
        rows.append({"of": "meets", "value": board, "probability": p, "at_least": p})
        read.append({"of": "meets", "value": board, "probability": text, "at_least": text})
    title = f"{title_of(found.game)}, by {found.player}"
    text = f"{title}\n{_table_or_summary(read, found)}"
    text += "".join(f"mean {NAMES[name]}: {one.mean_text}\n" for name, one in found.of.items())
    show.write(
        read, found.as_dict(), data=rows, game=found.game, text=text,
        draw=lambda plots, file: plots.plot_distributions(list(found.of.values()), file, title),
    )  # fmt: skip
    return 0


def _table_or_summary(rows: Sequence[dict[str, Any]], found: Distributions) -> str:
    """Return the rows as a table; in place of more than `MOST_ROWS` of a distribution its quantiles."""
    long = [one for one in found.of.values() if len(one.chances) > MOST_ROWS]
    names = {one.name for one in long}
    few = [row for row in rows if row["of"] not in names]
    text = table_text(few) if few else ""
    if long:
        text += table_text([one.summary() for one in long])
        text += "5%: this share of the games ends there or below\n"
        text += f"{len(rows):,} rows: --format csv prints them, --record ends.csv keeps them\n"
    return text
