"""``tilebase verify``: is every byte of a file or a run's folder as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def verify(path: Annotated[Path, Parameter(help="A layer file, or the folder of a run.")]) -> int:
    """Read every byte and check every checksum; exit with 1 if anything is wrong.

    tilebase verify run/
    """
    from tilebase.layers.run import verify_run
    from tilebase.tables.format import LayerFile

    if path.is_dir():
        wrong = verify_run(path)
        for sentence in wrong:
            print(sentence)
        print(f"{path}: {'sound' if not wrong else f'{len(wrong)} damaged'}")
        return 1 if wrong else 0
    with LayerFile(path) as layer:
        layer.verify()
        print(f"{path}: sound, {len(layer):,} keys of sum {layer.meta.get('sum')}")
    return 0
