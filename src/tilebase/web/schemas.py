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


def array(items: Schema) -> Schema:
    """Return an array of items of one form."""
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    """Return such a document, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*words: str) -> Schema:
    """Return one of some words."""
    return {"type": "string", "enum": list(words)}


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

_BOARD = {"board": TEXT, "cells": CELLS}
_DESCRIBED = {**_BOARD, "sum": WHOLE, "largest": WHOLE}

PROGRESS = nullable(record({"text": TEXT, "fraction": NUMBER}))
COMPONENTS: dict[str, Schema] = {
    "Problem": record(
        {
            "type": TEXT,
            "title": TEXT,
            "status": WHOLE,
            "detail": {"type": "string", "description": "One sentence."},
        }
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
        {
            "name": TEXT,
            "kind": one_of("table", "winning set", "certificate"),
            "state": one_of("ready", "solving", "failed"),
            "game": TEXT,
            "shape": TEXT,
            "progress": PROGRESS,
            "problem": nullable(TEXT),
        }
    ),
    "Solvable": record(
        {
            "name": TEXT,
            "formation": nullable(TEXT),
            "shape": TEXT,
            "picture": nullable(TEXT),
            "free": WHOLE,
            "goal": WHOLE,
            "chance": nullable(TEXT),
            "positions": TEXT,
            "seconds": NUMBER,
            "time": TEXT,
            "disk": TEXT,
            "problem": nullable(TEXT),
            "equal": TRUE,
            "state": one_of("new", "begun", "solving", "ready", "failed"),
            "command": TEXT,
        }
    ),
    "Game": {
        "type": "object",
        "description": "The rules of a game, and what is known of it.",
        "properties": {
            "name": TEXT,
            "shape": array(WHOLE),
            "lines": {
                "type": "object",
                "description": "By direction: the stretches of cells along which tiles slide to the first.",
                "additionalProperties": array(array(WHOLE)),
            },
            "objectives": array(FREE),
            "start": {"type": "object", "additionalProperties": component("Value")},
        },
        "required": ["name", "kind", "shape", "lines", "objectives", "start"],
    },
    "Slide": record(
        {
            "direction": DIRECTION,
            **_BOARD,
            "value": nullable(component("Value")),
            "loss": nullable(NUMBER),
            "loss_text": nullable(TEXT),
            "mistake": TRUE,
            "best": TRUE,
            "ends": one_of("", "won", "ended"),
            "merges_large": TRUE,
        }
    ),
    "Position": record(
        {
            "table": TEXT,
            **_DESCRIBED,
            "state": STATE,
            "meaning": TEXT,
            "value": nullable(component("Value")),
            "cost": TRUE,
            "best": array(DIRECTION),
            "slides": array(component("Slide")),
            "refused": {"type": "object", "additionalProperties": TEXT},
            "goal_cells": array(WHOLE),
            "large_tiles": nullable(array(WHOLE)),
            "orientation": nullable(TEXT),
            "read_as": nullable(TEXT),
            "others": array(component("Value")),
            "notes": array(TEXT),
            "problem": nullable(TEXT),
        }
    ),
    "Board": record(_DESCRIBED),
    "Spawns": record(
        {
            **_DESCRIBED,
            "spawns": array(
                record(
                    {
                        "cell": WHOLE,
                        "tile": WHOLE,
                        "probability": NUMBER,
                        "fraction": TEXT,
                        **_BOARD,
                        "value": nullable(component("Value")),
                        "state": STATE,
                        "worst": TRUE,
                        "best": TRUE,
                    }
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
    {
        "folder": nullable(TEXT),
        "token": nullable(TEXT),
        "failed": nullable(TEXT),
        "busy": nullable(TEXT),
        "kept": {"type": "object", "additionalProperties": TEXT},
        "tables": array(component("Solvable")),
    }
)
FITTING = record(
    {
        "answers": array(
            record(
                {
                    "table": TEXT,
                    "game": TEXT,
                    "board": TEXT,
                    "meaning": TEXT,
                    "value": nullable(component("Value")),
                    "best": array(DIRECTION),
                    "notes": array(TEXT),
                    "orientation": nullable(TEXT),
                }
            )
        ),
        "others": {"type": "object", "additionalProperties": TEXT},
        "fits": array(component("Solvable")),
        "problem": nullable(TEXT),
    }
)
ANSWERS = record({"answers": array({"anyOf": [component("Position"), record({"problem": TEXT})]})})
PLAYED = record(
    {
        "record": component("Record"),
        "moves": array(record({"board": TEXT, "slide": DIRECTION, "value": component("Value")})),
        "end": one_of("", "won", "lost", "ended"),
    }
)
REVIEW: Schema = {
    "type": "object",
    "properties": {
        "form": TEXT,
        "meaning": TEXT,
        "positions": WHOLE,
        "reviewed": WHOLE,
        "unknown": WHOLE,
        "agreed": WHOLE,
        "mistakes": WHOLE,
        "mistake_from": {
            "type": "number",
            "description": "The part of the value that a mistake loses at least.",
        },
        "agreement": nullable(NUMBER),
        "total_loss": NUMBER,
        "mean_loss": nullable(NUMBER),
        "longest_run": WHOLE,
        "moves": array(FREE),
        "drops": array(WHOLE),
        "endgames": array(record({"table": TEXT, "first": WHOLE, "last": WHOLE})),
    },
    "required": ["form", "meaning", "positions", "reviewed", "unknown", "agreed", "moves", "drops"],
}
LAYERS = record({"layers": array(record({"sum": WHOLE, "positions": WHOLE}))})
LAYER = record(
    {
        "sum": WHOLE,
        "positions": WHOLE,
        "read": WHOLE,
        "histogram": record({"edges": array(NUMBER), "counts": array(WHOLE)}),
        "by_largest": array(record({"tile": WHOLE, "positions": WHOLE, "mean": NUMBER})),
    }
)
DIAGRAM = record(
    {
        "svg": TEXT,
        "boards": {"type": "object", "additionalProperties": TEXT},
        "whole": TRUE,
        "board": nullable(TEXT),
    }
)
