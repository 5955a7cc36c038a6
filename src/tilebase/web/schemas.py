"""What the documents of the interface look like, as JSON Schema (in the dialect of OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

from tilebase.objectives.types import TYPES

Schema = dict[str, Any]


def record(required: dict[str, Schema]) -> Schema:
    """Return an object with these members and no others."""
    return {
        "type": "object",
        "properties": required,
        "required": list(required),
        "additionalProperties": False,
    }


def members(schema: Schema, names: str) -> dict[str, Schema]:
    """Return members of one form."""
    return dict.fromkeys(names.split(), schema)


def array(items: Schema) -> Schema:
    """Return an array of items of one form."""
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    """Return such a document, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*words: str) -> Schema:
    """Return one of some words."""
    return {"type": "string", "enum": list(words)}


def by_name(schema: Schema) -> Schema:
    """Return an object with members of one form under any names."""
    return {"type": "object", "additionalProperties": schema}


def component(name: str) -> Schema:
    """Return a reference to one of `COMPONENTS`."""
    return {"$ref": f"#/components/schemas/{name}"}


TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
TRUE: Schema = {"type": "boolean"}
FREE: Schema = {"type": "object"}
CELLS = array(TEXT)
DIRECTION = one_of("left", "right", "up", "down", "front", "back")
STATE = one_of("play", "won", "lost", "ended")

VALUE = component("Value")
_BOARD = {"board": TEXT, "cells": CELLS}
_DESCRIBED = {**_BOARD, "sum": WHOLE, "largest": WHOLE}
_ANSWER = members(TEXT, "table board meaning") | {
    "value": nullable(VALUE),
    "best": array(DIRECTION),
    "notes": array(TEXT),
    "orientation": nullable(TEXT),
}

PROGRESS = nullable(record({"text": TEXT, "fraction": NUMBER}))
COMPONENTS: dict[str, Schema] = {
    "Problem": record(
        members(TEXT, "type title")
        | {"status": WHOLE, "detail": {"type": "string", "description": "One sentence."}}
    ),
    "Value": {
        "type": "object",
        "description": "A value. Members depend on kind; text has all digits, short is as people read it.",
        "properties": {
            "kind": one_of("exact", "rounded", "lower", "upper", "interval", "below", "unknown"),
            "type": one_of(*(name for name, kind in TYPES.items() if kind.is_float)),
            "error": {"type": "number", "description": "How far the optimum can be from a rounded value."},
            "complement": {"type": "number", "description": "1 minus the value, where `loss` is known."},
            "text": TEXT,
            "short": TEXT,
        },
        "required": ["kind", "text", "short"],
    },
    "Served": record(
        members(TEXT, "name game shape")
        | {
            "kind": one_of("table", "winning set", "certificate"),
            "state": one_of("ready", "solving", "failed"),
            "progress": PROGRESS,
            "problem": nullable(TEXT),
        }
    ),
    "Solvable": record(
        members(TEXT, "name shape positions time disk command")
        | members(nullable(TEXT), "formation picture chance problem")
        | members(WHOLE, "free goal")
        | {
            "seconds": NUMBER,
            "equal": TRUE,
            "state": one_of("new", "begun", "solving", "ready", "failed"),
        }
    ),
    "Game": {
        "type": "object",
        "description": "The rules of a game, and what is known of it.",
        "properties": {
            "name": TEXT,
            "shape": array(WHOLE),
            "lines": {
                "description": "By direction: the stretches of cells along which tiles slide to the first.",
                **by_name(array(array(WHOLE))),
            },
            "objectives": array(FREE),
            "start": by_name(VALUE),
        },
        "required": ["name", "kind", "shape", "lines", "objectives", "start"],
    },
    "Slide": record(
        members(TRUE, "mistake best merges_large")
        | _BOARD
        | {
            "direction": DIRECTION,
            "value": nullable(VALUE),
            "loss": nullable(NUMBER),
            "loss_text": nullable(TEXT),
            "ends": one_of("", "won", "ended"),
        }
    ),
    "Position": record(
        _ANSWER
        | _DESCRIBED
        | {
            "state": STATE,
            "cost": TRUE,
            "slides": array(component("Slide")),
            "refused": by_name(TEXT),
            "goal_cells": array(WHOLE),
            "large_tiles": nullable(array(WHOLE)),
            "read_as": nullable(TEXT),
            "others": array(VALUE),
            "problem": nullable(TEXT),
        }
    ),
    "Board": record(_DESCRIBED),
    "Spawns": record(
        {
            **_DESCRIBED,
            "spawns": array(
                record(
                    members(WHOLE, "cell tile")
                    | members(TRUE, "worst best")
                    | _BOARD
                    | {"probability": NUMBER, "fraction": TEXT, "value": nullable(VALUE), "state": STATE}
                )
            ),
        }
    ),
    "Record": {
        "type": "object",
        "description": "A saved game: the start, and moves as [direction, cell of the spawn, tile].",
        "properties": {"format": TEXT, "version": WHOLE, "start": TEXT, "moves": array(array({}))},
        "required": ["format", "version", "start", "moves"],
    },
}
"""The documents that several requests share."""

TABLES = record({"version": TEXT, "library": TRUE, "tables": array(component("Served"))})
REVIEWING = record({"progress": PROGRESS})
LIBRARY = record(
    members(nullable(TEXT), "folder token failed busy")
    | {"kept": by_name(TEXT), "tables": array(component("Solvable"))}
)
FITTING = record(
    {
        "answers": array(record(_ANSWER | {"game": TEXT})),
        "others": by_name(TEXT),
        "fits": array(component("Solvable")),
        "problem": nullable(TEXT),
    }
)
ANSWERS = record({"answers": array({"anyOf": [component("Position"), record({"problem": TEXT})]})})
PLAYED = record(
    {
        "record": component("Record"),
        "moves": array(record({"board": TEXT, "slide": DIRECTION, "value": VALUE})),
        "end": one_of("", "won", "lost", "ended"),
    }
)
REVIEW: Schema = {
    "type": "object",
    "properties": {
        **members(TEXT, "form meaning"),
        **members(WHOLE, "positions reviewed unknown agreed mistakes longest_run"),
        "mistake_from": {
            "type": "number",
            "description": "The part of the value that a mistake loses at least.",
        },
        "agreement": nullable(NUMBER),
        "total_loss": NUMBER,
        "mean_loss": nullable(NUMBER),
        "moves": array(FREE),
        "drops": array(WHOLE),
        "endgames": array(record({"table": TEXT, **members(WHOLE, "first last")})),
    },
    "required": ["form", "meaning", "positions", "reviewed", "unknown", "agreed", "moves", "drops"],
}
LAYERS = record({"layers": array(record(members(WHOLE, "sum positions")))})
LAYER = record(
    {
        **members(WHOLE, "sum positions read"),
        "histogram": record({"edges": array(NUMBER), "counts": array(WHOLE)}),
        "by_largest": array(record({"tile": WHOLE, "positions": WHOLE, "mean": nullable(NUMBER)})),
    }
)
DIAGRAM = record({"svg": TEXT, "boards": by_name(TEXT), "whole": TRUE, "board": nullable(TEXT)})
