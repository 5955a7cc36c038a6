"""Options that commands share: game, memory, form of output."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from tilebase.cli.output import FORMATS, PLANNING, SUFFIXES, Shown
from tilebase.cli.usage import shared
from tilebase.errors import MissingLayerError, UsageError
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.game.grid import is_shape
from tilebase.game.spawns import SpawnLaw, law_of
from tilebase.objectives.objective import MEANINGS
from tilebase.pictures import CONVERTED, DRAWINGS, PICTURES
from tilebase.runtime.documents import shown
from tilebase.runtime.measured import ANYWAY
from tilebase.runtime.resources import Allowance, parse_bytes

if TYPE_CHECKING:
    from tilebase.runtime.progress import Progress
    from tilebase.runtime.resources import Use

SHAPE_HELP = "Rows x columns, such as 4x4, or three sizes, such as 2x2x3."
RULES, USED, PRINTED = (
    Group(title, sort_key=position, help_formatter=shared)
    for position, title in enumerate(("Rules of the game", "Resources", "Output"), 1)
)
"""Where the help of a command lists the options that several commands share."""
ShapeArgument = Annotated[str, Parameter(help=SHAPE_HELP)]
ShapeOrGoal = Annotated[str, Parameter(help=f"{SHAPE_HELP} With --formation: the goal.")]
"""Left out (``""``) only if a formation is played for a goal sum; `make_game` checks."""
GoalArgument = Annotated[
    int | None, Parameter(help="The tile that wins. Default: play ends when no slide is left.")
]
WorkOption = Annotated[
    Path | None,
    Parameter(
        name=["--work", "-w"],
        group=USED,
        help="Folder for finished layers; the same command continues there. Default: a folder that is "
        "removed at the end.",
    ),
]
ThreadsOption = Annotated[int | None, Parameter(group=USED, help="Threads to use; default: all processors.")]
ClusterOption = Annotated[
    str | None,
    Parameter(
        group=USED,
        help="Workers for the large layers: local:4 (worker processes here), tcp://host:8786 (a Dask "
        "scheduler), or the file of a scheduler.",
    ),
]
ObjectiveOption = Annotated[
    str,
    Parameter(
        help=", ".join(f"{name} ({one.text})" for name, one in MEANINGS.items())
        + "; several with commas, a type of value after a colon: win:float32, a discount after an @: "
        "win@0.99. lower,upper prove an interval."
    ),
]
SpawnOption = Annotated[str, Parameter(help="Probability of a spawned 4, exact: 0.1, 1/10, 0 for only 2s.")]
SpawnsOption = Annotated[str, Parameter(help="Tiles that the adversary may spawn: 2,4 or 2 or 4.")]
ForcedStartOption = Annotated[
    str,
    Parameter(
        help="empty (the adversary begins; most commands begin with two-tiles), two-tiles (it chooses both), "
        "or a board."
    ),
]
LimitsOption = Annotated[str | None, Parameter(help="Largest tile of each cell, 16,16/16,8, or of all, 16.")]
PatternOption = Annotated[
    str | None,
    Parameter(help="Tiles on cells that also win, * for any: `64,32,*/*,*,*`, or lemma1, pair or two."),
]
TimeOption = Annotated[
    str | None, Parameter(group=USED, help="Stop without a decision after this time: 90s, 10min, 2h.")
]


@Parameter(name="*")
class Options:
    """Options that a command takes as one value; their names have no prefix, also in subclasses.

    The help of an option is the docstring below it.
    """


@Parameter(name="*", group=PRINTED)
@dataclass(frozen=True)
class ShownOptions:
    """How a command prints its result, and where it records it."""

    form: Annotated[str | None, Parameter(name=["--format", "-f"])] = None
    """table, csv, json, markdown or latex."""
    record: Path | None = None
    """Also write the result to this file: .txt, .csv, .json, .md, .tex or .parquet; if the command draws, a
    picture (.svg; plots also .pdf, .eps or .png). Above 40 rows by sum, only totals are printed."""

    def checked(self, pictures: Sequence[str] = ()) -> Shown:
        """Return how the result is written; `pictures` are the suffixes of pictures that the command draws.

        They need matplotlib, but for `DRAWINGS`.  A plan is not drawn.

        Raises `UsageError`, `MissingExtraError`, or `StorageError` if the file cannot be written: before any
        work is done for it.
        """
        form, record = "table" if self.form is None else self.form, self.record
        if form == "parquet":
            raise UsageError("Parquet is not printed but written: name a file, such as --record rows.parquet")
        if form not in FORMATS:
            raise UsageError(f"format {form!r} does not exist: choose one of {', '.join(FORMATS)}")
        if record is None:
            return Shown(form)
        suffix = record.suffix.lower()
        known = SUFFIXES | dict.fromkeys(() if PLANNING.get() else pictures, "picture")
        if suffix not in known:
            drawn = suffix in PICTURES
            wrong = f": no {suffix} picture is drawn of this result" if drawn else " does not say its format"
            how = f", {CONVERTED}" if drawn and pictures == DRAWINGS else ""
            raise UsageError(f"{record}{wrong}: end its name in {', '.join(known)}{how}")
        if known[suffix] == "picture" and pictures != DRAWINGS:
            from tilebase.pictures.drawing import check_picture

            check_picture(record)
        if known[suffix] == "parquet":
            from tilebase.files.parquet import load_pyarrow

            load_pyarrow()
        from tilebase.files.source import check_output

        check_output(record)
        return Shown(form, record, known[suffix])


@Parameter(name="*", group=USED)
@dataclass(frozen=True)
class UseOptions:
    """What a command may use."""

    memory: str | None = None
    """Memory to use, such as 16GiB; larger layers are spilled to disk."""
    threads: ThreadsOption = None

    def use(self, progress: Callable[[Progress], None] | None = None) -> Use:
        """Return the keywords of a question."""
        return {
            "memory": self.memory, "threads": self.threads, "progress": progress, "anyway": ANYWAY.get(),
        }  # fmt: skip

    def allowed(self) -> Allowance:
        """Return what a plan may count on: as much memory as is named, also more than this machine has."""
        found = Allowance.of(threads=self.threads)
        asked = parse_bytes(self.memory)
        return found if asked is None else replace(found, memory=asked)


@Parameter(name="*", group=RULES)
@dataclass(frozen=True)
class RuleOptions:
    """The rules of a game other than shape, goal, start and spawns."""

    limits: LimitsOption = None
    pattern: PatternOption = None
    formation: str | None = None
    """Play in this formation (tilebase plan formations lists them), or in that of FILE.toml. Then the goal is
    the only argument. Not for lemma, limits and force starts."""
    rules: str | None = None
    """Rare rules: a TOML file, or its lines, such as 'walls = [0, 5]; horizon = 40'. docs/game.md lists
    them."""


@dataclass(frozen=True)
class SolvedOptions(RuleOptions):
    """The rules of a game that is solved before it is played, whose start is not one of the options."""

    spawn: SpawnOption = "1/10"


@dataclass(frozen=True)
class GameOptions(SolvedOptions):
    """The rules of a game with random spawns."""

    start: str = "two-tiles"
    """two-tiles (the real game), empty (one spawn on the empty board), or a board; of a formation, a real
    board."""


@dataclass(frozen=True)
class AdversaryOptions(RuleOptions):
    """The rules of a game against an adversary, who spawns, but for the start."""

    spawns: SpawnsOption = "2,4"


@dataclass(frozen=True)
class ForcedOptions(AdversaryOptions):
    """The rules of a game against an adversary."""

    start: ForcedStartOption = "empty"


WITH_FORMATION = ("spawn", "spawns", "start", "formation", "rules")
"""The options that go with a formation; it says all others itself."""
RULES_OF_FORMATIONS = frozenset(("goal-sum", "horizon", "steps", "at-least"))
RARE_RULES = RULES_OF_FORMATIONS | {"walls", "unmergeable", "masks"}
"""The keys of ``--rules``, and those that go with a formation."""
RULE_VALUES: dict[str, tuple[type, str]] = {
    "walls": (list, "= [0, 5]"), "unmergeable": (list, "= [7, 8]"), "masks": (str, "= '.../..x/.xx'"),
    "at-least": (bool, "= true"),
}  # fmt: skip
"""The type of a rule and an example; a number for others."""


def make_game(shape: str, goal: int | None, options: GameOptions | ForcedOptions, *, whole: str = "") -> Game:
    """Return the game that the arguments describe; with a formation, the first of them is the goal.

    A command that needs a goal and takes no formation says in `whole` why.  Raises `UsageError` for arguments
    and rules that are missing, or that do not go together.
    """
    named = options.formation
    if whole and named is not None:
        raise UsageError(f"{whole}: leave --formation {named} out")
    if whole and goal is None:
        raise UsageError("a GOAL is missing: name the tile behind the shape, such as 3x3 64")
    spawn: SpawnLaw | str = options.spawn if isinstance(options, GameOptions) else law_of(options.spawns)
    rare = parse_rules(options.rules)
    rules = {name.replace("-", "_"): value for name, value in rare.items()}
    if named is None:
        if wrong := {"steps", "at-least"} & rare.keys():
            raise UsageError(f"the rule {min(wrong)} is for formations: name one, such as --formation 442")
        if not shape:
            raise UsageError(f"a SHAPE is missing: {SHAPE_HELP.rstrip('.')}, or a --formation and its goal")
        board = {name: getattr(options, name) for name in ("start", "limits", "pattern")}
        return Game(shape, goal, spawn=spawn, **board, **rules)
    chosen = formation(named)
    for field in fields(options):
        if field.name not in WITH_FORMATION and getattr(options, field.name) != field.default:
            raise UsageError(
                f"--{field.name} and --formation contradict each other: leave one of the two out"
            )
    if wrong := rare.keys() - RULES_OF_FORMATIONS:
        raise UsageError(f"the rule {min(wrong)} and --formation contradict each other: leave one out")
    if goal is not None or not re.fullmatch(r"\d{0,9}", shape.strip()):
        given = shown(shape if goal is None else f"{shape} {goal}", 80)
        raise UsageError(f"with a formation, give the goal alone: --formation {named} 512, not {given}")
    found = chosen.game(int(shape) if shape.strip() else None, spawn=spawn, **rules)
    start = getattr(options, "start", None)
    if start is None or start == type(options).start:
        return found
    if start in ("two-tiles", "empty"):
        raise UsageError(f"--start {start} and --formation contradict each other: give a board as the start")
    from tilebase.tables.large_tiles import started_from

    return started_from(found, start)


def parse_rules(given: str | None) -> dict[str, Any]:
    """Return the rules in a TOML file, or in lines of TOML with semicolons between them.

    Raises `UsageError`, or `StorageError` if the file cannot be read.

    >>> parse_rules("walls = [0, 5]; horizon = 40")
    {'walls': [0, 5], 'horizon': 40}
    """
    if given is None:
        return {}
    from tilebase.files.source import read_file  # most commands are given no file

    inline = "=" in given
    try:
        text = given.replace(";", "\n") if inline else read_file(Path(given)).decode()
        rules = tomllib.loads(text)
    except MissingLayerError as error:
        raise UsageError(
            f"there is no file {given}: name one, or write rules, as 'walls = [0, 5]'"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        where = "the rules are" if inline else f"{given} is"
        raise UsageError(f"{where} not TOML ({error}): write 'walls = [0, 5]; horizon = 40'") from error
    if unknown := rules.keys() - RARE_RULES:
        raise UsageError(
            f"there is no rule {shown(min(unknown), 40)}: choose from {', '.join(sorted(RARE_RULES))}"
        )
    for name, value in rules.items():
        kind, example = RULE_VALUES.get(name, (int, "= 40"))
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UsageError(f"the rule {name} cannot be {shown(value, 40)}: write {name} {example}")
    return rules


def solved_first(words: Sequence[str], options: GameOptions) -> Game | None:
    """Return the game, a shape and a goal or the goal of a formation, that a command solves first.

    None if the words name tables.  Raises `UsageError`.
    """
    if options.formation is not None:
        return make_game(" ".join(words), None, options)
    first, rules = words[0] if words else "", options != GameOptions()
    if not is_shape(first):
        if rules:
            wrong = f"{shown(first, 40)} is not a shape" if first else "no shape is named"
            raise UsageError(f"{wrong}, and a table has its own rules: leave goal and rules out")
        return None
    if len(words) == 1 and not rules and Path(first).exists():
        return None
    if len(words) > 2 or (len(words) == 2 and not re.fullmatch(r"\d{1,9}", words[1])):
        raise UsageError(f"behind the shape {first} comes its goal, such as {first} 512, and nothing else")
    return make_game(first, int(words[1]) if len(words) == 2 else None, options)


def parse_time(text: str | None, otherwise: float = math.inf) -> float:
    """``90``, ``90s``, ``10min``, ``2h`` or ``7d`` as seconds; None is `otherwise`.  Raises `UsageError`."""
    if text is None:
        return otherwise
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|d|)", text.strip().lower())
    if not match:
        raise UsageError(f"{text!r} is not a time: write 90s, 10min, 2h or 7d")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2][:1]]
