"""The data card of a data set, for readers, and its metadata, for programs: Croissant, and that of the card.

The card begins with YAML, by which ``datasets.load_dataset(FOLDER, BENCHMARK)`` of Hugging Face finds the
files; without a benchmark it loads the first.

Croissant (version 1.1, by MLCommons) is JSON-LD: each file is a ``cr:FileObject`` with its checksum, and each
part of a benchmark a ``cr:RecordSet`` whose fields name columns of its file.  Paths are relative to the
folder of the metadata, so that the set can be put on any host.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from tilebase._version import version
from tilebase.claims.results import AUTHORS, entry
from tilebase.datasets.benchmarks import NAME, VERSION
from tilebase.datasets.columns import SPLITS
from tilebase.files.schema import Column
from tilebase.game.names import title_of
from tilebase.objectives.numbers import byte_text, digits_text
from tilebase.runtime.documents import to_json
from tilebase.runtime.measured import run_facts
from tilebase.runtime.rows import markdown_text

if TYPE_CHECKING:
    from dataset.making import File, Part

LICENCE = "MIT"
TITLE = "Exact values of 2048 on small boards"
ABOUT = (
    "Every state that play from the random start reaches on small boards of the game 2048, up to symmetry, "
    "with its exact value, the value of each slide, the best slides, and how often optimal play meets it; "
    "and tasks with fixed names that score an agent against optimal and random play. Values were computed by "
    "backward induction over all states, in 64-bit floats."
)
KEYWORDS = ["2048", "reinforcement learning", "tablebase", "exact values", "Markov decision process"]
TYPES = {
    "uint64": "cr:UInt64",
    "uint8": "cr:UInt8",
    "int32": "cr:Int32",
    "float64": "cr:Float64",
    "string": "sc:Text",
}
"""What Croissant calls the types of columns."""

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The ``@context`` that Croissant 1.1 asks for."""


# -- for programs ------------------------------------------------------------------------------


def croissant(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the Croissant metadata of what was made."""
    tables = {part.table.path: part.table for part in parts if part.table is not None}
    everything = [*tables.values(), *(file for part in parts for file in part.files)]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": NAME,
        "description": ABOUT,
        "license": f"https://spdx.org/licenses/{LICENCE}.html",
        "version": VERSION,
        "datePublished": run_facts()["date"],
        "creator": {"@type": "sc:Organization", "name": AUTHORS},
        "citeAs": _bibtex(),
        "keywords": KEYWORDS,
        "distribution": [_file_object(file) for file in everything],
        "recordSet": [
            _record_set(part, split, file)
            for part in parts
            for split, file in zip(SPLITS, part.files, strict=True)
        ],
    }


def _bibtex() -> str:
    """Return an entry of BibTeX for a data set that is made now."""
    return entry("tilebase2048", TITLE, f"version {VERSION}, made by tilebase {version()}")


def _file_object(file: File) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.size} B",
        "encodingFormat": "application/zip" if file.path.endswith(".zip") else "application/x-parquet",
        "sha256": file.sha256,
    }


def _record_set(part: Part, split: str, file: File) -> dict[str, Any]:
    name = f"{part.task.name}/{split}"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"The {split} states of {part.task.name}: {title_of(part.task.game)}.",
        "key": {"@id": f"{name}/key"},
        "field": [_field(part, name, column, file) for column in part.columns],
    }


def _field(part: Part, record: str, column: Column, file: File) -> dict[str, Any]:
    shape = {"isArray": True, "arrayShape": str(part.task.game.cells)} if column.name == "cells" else {}
    return {
        "@type": "cr:Field",
        "@id": f"{record}/{column.name}",
        "name": f"{record}/{column.name}",
        "description": column.meaning,
        "dataType": TYPES[column.type],
        **shape,
        "source": {"fileObject": {"@id": file.path}, "extract": {"column": column.name}},
    }


# -- for readers -------------------------------------------------------------------------------


def data_card(parts: Sequence[Part], command: str) -> str:
    """Return the data card as Markdown: `card.md` with what was made."""
    facts = run_facts()
    tables = {part.table.path: part.table for part in parts if part.table is not None}
    return Path(__file__).with_name("card.md").read_text("utf-8").format(
        front=_front_matter(parts), first=parts[0].task.name, title=TITLE, about=ABOUT, version=VERSION,
        program=version(), licence=LICENCE, cite=indent(_bibtex(), "    "), command=command,
        date=facts["date"], machine=facts["machine"],
        cpu_seconds=facts["cpu_seconds"], states=sum(part.rows for part in parts), count=len(parts),
        benchmarks=markdown_text([_task_row(part) for part in parts]),
        columns=markdown_text([_column_row(one) for one in parts[0].columns]),
        made=markdown_text([_made_row(part) for part in parts]),
        tables=markdown_text(
            [{"table": f"`{one.path}`", "size": byte_text(one.size)} for one in tables.values()]
        ),
    )  # fmt: skip


def _front_matter(parts: Sequence[Part]) -> str:
    """Return the metadata of the card as YAML, of which JSON is a part."""
    configs = [
        {
            "config_name": part.task.name, **({} if at else {"default": True}),
            "data_files": [
                {"split": split, "path": file.path} for split, file in zip(SPLITS, part.files, strict=True)
            ],
        }
        for at, part in enumerate(parts)
    ]  # fmt: skip
    found = {
        "pretty_name": TITLE, "license": LICENCE.lower(), "task_categories": ["reinforcement-learning"],
        "tags": KEYWORDS,
    }  # fmt: skip
    lines = [f"{name}: {to_json(value)}" for name, value in found.items()]
    return "\n".join([*lines, "configs:", *(f"- {to_json(one)}" for one in configs)])


def _task_row(part: Part) -> dict[str, str]:
    task = part.task
    values = {name: digits_text(getattr(task, name)) for name in ("optimum", "random", "greedy")}
    return {
        "name": task.name, "game": f"`{task.words}`", "objective": task.objective, **values,
        "states": f"{part.rows:,}",
    }  # fmt: skip


def _column_row(one: Column) -> dict[str, str]:
    kind = f"list of {one.type}" if one.name == "cells" else one.type
    return {"column": f"`{one.name}`", "type": kind, "meaning": one.meaning}


def _made_row(part: Part) -> dict[str, str]:
    steps = ("solve", "random and greedy", "write")
    return {
        "benchmark": part.task.name,
        **{f"{step}, CPU s": f"{part.seconds[step]:.1f}" for step in steps},
        **{split: f"{file.rows:,}" for split, file in zip(SPLITS, part.files, strict=True)},
        "Parquet": byte_text(sum(file.size for file in part.files)),
    }
