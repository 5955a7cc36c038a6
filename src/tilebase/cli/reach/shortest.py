"""``tilebase reach shortest``: the fewest drops after which no slide is left."""

from __future__ import annotations

import sys

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions, parse_seconds
from tilebase.cli.output import planning
from tilebase.cli.progress import counting_progress
from tilebase.cli.reach.options import DEFAULT_SEARCH, SearchOptions, SeedOption, SizeArgument, print_plan
from tilebase.cli.startup import prepare_kernels
from tilebase.game.notation import count_of

SECONDS = 60.0


def shortest(
    size: SizeArgument,
    *,
    seed: SeedOption = 1,
    shown: ShownOptions = DEFAULT_SHOWN,
    search: SearchOptions = DEFAULT_SEARCH,
) -> int:
    """Find the fewest drops of 2s after which no slide is left, and print such a game.

    "Proved" means that no end position of fewer drops can be reached: the search back from all of them ended.
    Without --budget, the search has 60 seconds. Exit status 1 if the number is not proved: then the lower
    bound and the best game are printed.

    tilebase reach shortest 4x4

    tilebase reach shortest 10x10 --budget 10min
    """
    show = shown.checked()
    asked = parse_seconds(search.budget)
    limit = SECONDS if asked is None else asked
    if planning():
        return print_plan("shortest", size, show, limit=limit)
    prepare_kernels()
    from tilebase.patterns.shortest import shortest_game

    with counting_progress() as progress:
        found = shortest_game(
            size, seed=seed, memory=search.memory, seconds=limit, progress=progress,
        )  # fmt: skip
    from tilebase.questions.statements import of_shortest

    document = found.as_dict()
    row = {key: value for key, value in document.items() if key != "excluded"}
    lines = [f"{found.statement}."]
    for drops, (ends, kept) in found.excluded.items():
        listed = f"{count_of(ends, 'end position')}, none can be reached"
        lines.append(f"{count_of(drops, 'drop')}: {listed} ({count_of(kept, 'position')})")
    if found.moves is not None:
        lines += [*document["board"].split("/"), document["moves"]]
    text = "".join(f"{line}\n" for line in lines)
    show.write([row], document | of_shortest(found).as_dict(), text=text, game=str(found.rules))
    if not found.proved:
        print(f"tilebase: {found.reason}", file=sys.stderr)
        return 1
    return 0
