"""The description of the interface in OpenAPI 3.1, made from its operations."""

from __future__ import annotations

from typing import Any

from tilebase._version import version
from tilebase.web.operations import MOST_BODY, OPERATIONS, Operation
from tilebase.web.schemas import COMPONENTS, component

PROBLEMS = {
    400: "a parameter or a board is wrong",
    403: "the request comes from another web page",
    404: "there is no such table, layer or board",
    405: "the method is not allowed here",
    408: "the request came too slowly",
    413: f"the body is larger than {MOST_BODY:,} bytes",
    429: "this client asks too much at a time",
    500: "a file of the table is damaged or cannot be read",
    503: "there is not enough memory, or the server is being stopped",
}
"""What can go wrong, by HTTP status."""


_PLAIN = str.maketrans("", "", "{}")


def document() -> dict[str, Any]:
    """Return the whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tilebase explorer",
            "version": version(),
            "description": "Exact answers about the game 2048 from solved tables. Errors are problem "
            "documents (RFC 9457) whose detail is one sentence.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": COMPONENTS},
    }


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": "-".join([operation.method.lower(), *operation.path.split("/")[2:]]).translate(_PLAIN),
        "parameters": [
            {
                "name": one.name,
                "in": one.where,
                "required": one.required,
                "description": one.text,
                "schema": one.schema,
            }
            for one in operation.parameters
        ],
        "responses": {
            "200": {
                "description": operation.summary,
                "content": {"application/json": {"schema": operation.result}},
            }
        }
        | {
            str(status): {
                "description": text,
                "content": {"application/problem+json": {"schema": component("Problem")}},
            }
            for status, text in PROBLEMS.items()
        },
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": operation.body}},
        }
    return described
