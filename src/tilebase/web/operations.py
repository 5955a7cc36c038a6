"""The requests of the interface: one description of each, from which checks and documentation follow."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from tilebase._version import version
from tilebase.errors import TilebaseError, UsageError
from tilebase.game.records import MOST_POSITIONS, MOST_TEXT
from tilebase.questions.fitting import fit_named
from tilebase.questions.review import review, review_game
from tilebase.web import documents, schemas
from tilebase.web.collection import Collection
from tilebase.web.schemas import COMPONENTS, Schema, component

MOST_BATCH = 1000
"""Most boards of one request."""
MOST_BODY = 1 << 20
"""Most bytes of the body of a request."""
MOST_GAME = MOST_TEXT + MOST_TEXT // 8
"""Most bytes of a body with a game, whose text has longer lines in JSON."""
MOST_NUMBER = 2**53 - 1
"""Largest whole number of a request: the largest that every JSON reader keeps."""

Arguments = dict[str, Any]
Respond = Callable[[Collection, Arguments], documents.Document]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a request, in its address.

    Attributes
    ----------
    name, text:
        Its name, and what it means.
    where:
        In the path, or behind the question mark.
    kind:
        Its type.
    required:
        Whether it must be given.
    words:
        The words that are allowed; empty for any text.
    """

    name: str
    text: str
    where: Literal["query", "path"] = "query"
    kind: Literal["string", "integer", "boolean"] = "string"
    required: bool = False
    words: tuple[str, ...] = ()

    def read(self, word: str) -> Any:
        """Return the value of a word.  Raises `UsageError`."""
        if self.kind == "string":
            if self.words and word not in self.words:
                raise UsageError(f"{self.name} is {word[:80]!r}, but must be one of {', '.join(self.words)}")
            return word
        if self.kind == "boolean":
            if word not in ("0", "1", "true", "false"):
                raise UsageError(f"{self.name} is {word[:80]!r}, but must be true or false")
            return word in ("1", "true")
        if not word.isascii() or not word.removeprefix("-").isdecimal():
            raise UsageError(f"{self.name} is {word[:80]!r}, but must be a whole number")
        if len(word) > 80 or not 0 <= int(word) <= MOST_NUMBER:
            raise UsageError(f"{self.name} is {word[:80]}, but must be from 0 to 2^53 - 1")
        return int(word)

    @property
    def schema(self) -> Schema:
        """Its JSON Schema."""
        schema: Schema = {"type": self.kind}
        if self.words:
            schema["enum"] = list(self.words)
        if self.kind == "integer":
            schema |= {"minimum": 0, "maximum": MOST_NUMBER}
        return schema


@dataclass(frozen=True)
class Operation:
    """One request of the interface.

    Attributes
    ----------
    method, path:
        As in HTTP; the path has the names of path parameters in braces.
    summary:
        What it returns, in one sentence.
    respond:
        Called with the collection and the arguments; returns the document.
    result:
        The schema of the document.
    parameters, body:
        The parameters in the address, and the schema of a JSON body; None without a body.
    cost:
        How many probes the request counts for, by its arguments.
    most_body:
        Most bytes of the body.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    respond: Respond
    result: Schema
    parameters: tuple[Parameter, ...] = ()
    body: Schema | None = None
    cost: Callable[[Arguments], int] = lambda _: 1
    most_body: int = MOST_BODY

    def arguments(self, query: Mapping[str, str], path: Mapping[str, str]) -> Arguments:
        """Return the arguments in an address.  Raises `UsageError`."""
        known = {one.name for one in self.parameters if one.where == "query"}
        unknown = sorted(set(query) - known)
        if unknown:
            allowed = ", ".join(sorted(known)) or "none"
            raise UsageError(f"there is no parameter {unknown[0][:80]!r} here; there are: {allowed}")
        found: Arguments = {}
        for one in self.parameters:
            word = (path if one.where == "path" else query).get(one.name)
            if word is None and one.required:
                raise UsageError(f"the parameter {one.name} is missing: {one.text}")
            found[one.name] = None if word is None else one.read(word)
        return found

    def with_body(self, arguments: Arguments, data: bytes) -> Arguments:
        """Return the arguments with those of a JSON body.  Raises `UsageError`."""
        assert self.body is not None
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                "the body is not JSON: send an object, as documented in api/openapi.json"
            ) from error
        if not isinstance(found, dict):
            raise UsageError("the body must be a JSON object")
        properties = self.body["properties"]
        for name in found:
            if name not in properties:
                raise UsageError(f"the body has no member {name[:80]!r}; it may have {', '.join(properties)}")
        for name in self.body["required"]:
            if name not in found:
                raise UsageError(f"the body has no {name}")
        for name, value in found.items():
            _check_member(name, value, properties[name])
        return arguments | {name: found.get(name) for name in properties}


def _check_member(name: str, value: Any, schema: Schema) -> None:
    """Raise `UsageError` unless a member of a body is a text, or null if it may be, or a list of texts."""
    if schema["type"] == "array":
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise UsageError(f"{name} must be a list of texts")
        if not 1 <= len(value) <= schema["maxItems"]:
            raise UsageError(f"{name} must have 1 to {schema['maxItems']:,} items, not {len(value):,}")
    elif not isinstance(value, str) and not (value is None and "null" in schema["type"]):
        raise UsageError(f"{name} must be a text")


# -- what is asked -----------------------------------------------------------------------------------


def _tables(collection: Collection, _: Arguments) -> documents.Document:
    collection.refresh()
    tables = [documents.served(collection.look(name)) for name in list(collection.entries)]
    return {"version": version(), "library": collection.library is not None, "tables": tables}


def _library(collection: Collection, _: Arguments) -> documents.Document:
    collection.refresh()
    return documents.library(collection)


def _answers(collection: Collection, given: Arguments) -> documents.Document:
    collection.refresh()
    return documents.answers(collection, given["board"])


def _begin(collection: Collection, given: Arguments) -> documents.Document:
    _check_token(collection, given["token"])
    fit = fit_named(given["name"])
    return documents.served(collection.begin(fit.name, fit.game))


def _stop(collection: Collection, given: Arguments) -> documents.Document:
    _check_token(collection, given["token"])
    collection.stop()
    return {"stopping": collection.solving}


def _delete(collection: Collection, given: Arguments) -> documents.Document:
    _check_token(collection, given["token"])
    collection.delete(given["name"])
    return {"deleted": True}


def _check_token(collection: Collection, token: str) -> None:
    if not secrets.compare_digest(token.encode(), collection.token.encode()):
        raise UsageError("the token is not that of this server: load the page again")


def _game(collection: Collection, given: Arguments) -> documents.Document:
    return documents.game_document(given["name"], collection.open(given["name"]))


def _probe(collection: Collection, given: Arguments) -> documents.Document:
    opened = collection.open(given["table"])
    return documents.position(given["table"], opened, given["board"], given["objective"])


def _probe_batch(collection: Collection, given: Arguments) -> documents.Document:
    opened = collection.open(given["table"])
    opened.unit(given["objective"])  # an unknown one is wrong for all boards
    answers: list[documents.Document] = []
    for board in given["boards"]:
        try:
            answers.append(documents.position(given["table"], opened, board, given["objective"]))
        except TilebaseError as error:
            answers.append({"problem": str(error)})
    return {"answers": answers}


def _review(collection: Collection, given: Arguments) -> documents.Document:
    name = given["id"]
    tell = None if name is None else partial(collection.reviews.__setitem__, name)
    try:
        if given["table"] is not None:
            opened = documents.need_table(collection.open(given["table"]))
            return review(opened, given["game"], given["objective"], progress=tell).as_dict()
        collection.refresh()
        tables = collection.tables()
        return review_game(tables, given["game"], given["objective"], progress=tell).as_dict()
    finally:
        collection.reviews.pop(name, None)


def _reviewing(collection: Collection, given: Arguments) -> documents.Document:
    return {"progress": documents.progress(collection.reviews.get(given["id"]))}


def _of_table(ask: Callable[..., documents.Document]) -> Respond:
    """Answer by the table that is named; `ask` is given it, and the other arguments by their names."""

    def respond(collection: Collection, given: Arguments) -> documents.Document:
        others = {name: value for name, value in given.items() if name != "table"}
        return ask(collection.open(given["table"]), **others)

    return respond


NAME = Parameter("name", "the name of a table, as api/tables lists it", "path", required=True)
TABLE = Parameter("table", "the name of a table, as api/tables lists it", required=True)
BOARD = Parameter("board", "a board in any notation that tilebase probe takes", required=True)
OBJECTIVE = Parameter("objective", "the label of one of the table's objectives; left out: the first")
SEED = Parameter("seed", "the same seed gives the same result", kind="integer")
ADVERSARY = Parameter("adversary", "whether spawns are the worst for the player", kind="boolean")
NULLABLE_TEXT: Schema = {"type": ["string", "null"]}


def _body(**members: Schema) -> Schema:
    """Return the schema of a body; members that may be null may be left out."""
    required = [name for name, schema in members.items() if schema is not NULLABLE_TEXT]
    return {"type": "object", "properties": members, "required": required, "additionalProperties": False}


OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/api/tables", "List the tables that are served.", _tables, schemas.TABLES),
    Operation(
        "GET", "/api/library", "List the tables that players solve: their cost, and whether they exist.",
        _library, schemas.LIBRARY, cost=lambda _: 100,
    ),
    Operation(
        "GET", "/api/answers", "Look a board up in all tables, and list what could be solved for it.",
        _answers, schemas.FITTING, (BOARD,), cost=lambda _: 100,
    ),
    Operation(
        "POST", "/api/solve", "Solve a table into the library, or continue.", _begin, component("Served"),
        body=_body(name=schemas.TEXT, token=schemas.TEXT),
    ),
    Operation(
        "POST", "/api/stop", "Stop solving; finished work is kept.", _stop,
        schemas.record({"stopping": schemas.TRUE}), body=_body(token=schemas.TEXT),
    ),
    Operation(
        "POST", "/api/delete", "Delete a table of the library, finished or not.", _delete,
        schemas.record({"deleted": schemas.TRUE}), body=_body(name=schemas.TEXT, token=schemas.TEXT),
    ),
    Operation(
        "GET", "/api/tables/{name}", "Describe a game and its table.", _game, component("Game"), (NAME,)
    ),
    Operation(
        "GET", "/api/probe", "Look up a position: its value, and those of its slides.", _probe,
        component("Position"), (TABLE, BOARD, OBJECTIVE),
    ),
    Operation(
        "POST", "/api/probe", "Look up as many as 1,000 positions.", _probe_batch, schemas.ANSWERS,
        body=_body(
            table=schemas.TEXT,
            boards=schemas.array(schemas.TEXT) | {"minItems": 1, "maxItems": MOST_BATCH},
            objective=NULLABLE_TEXT,
        ),
        cost=lambda given: len(given["boards"]),
    ),
    Operation(
        "GET", "/api/spawns", "List the states that a spawn makes of a board after a slide.",
        _of_table(documents.spawns), component("Spawns"), (TABLE, BOARD, OBJECTIVE), cost=lambda _: 30,
    ),
    Operation(
        "GET", "/api/start", "Draw a random board to begin with.", _of_table(documents.start),
        component("Board"),
        (
            TABLE, SEED, Parameter("sum", "the sum of its tiles, unless it is a start", kind="integer"),
            Parameter(
                "by", "a start of the game, any stored position, or one that optimal play meets",
                words=("start", "uniform", "optimal"),
            ),
            ADVERSARY, OBJECTIVE,
        ),
        cost=lambda given: 500 if given["by"] == "optimal" else 50,
    ),
    Operation(
        "GET", "/api/random-game", "Draw a game of optimal play.", _of_table(documents.random_game),
        schemas.PLAYED, (TABLE, SEED, ADVERSARY, OBJECTIVE), cost=lambda _: 500,
    ),
    Operation(
        "POST", "/api/review", "Compute what each slide of a game loses, by one table or by all.", _review,
        schemas.REVIEW,
        body=_body(table=NULLABLE_TEXT, game=schemas.TEXT, objective=NULLABLE_TEXT, id=NULLABLE_TEXT),
        cost=lambda given: min(10 + len(given["game"]) // 10, MOST_POSITIONS), most_body=MOST_GAME,
    ),
    Operation(
        "GET", "/api/review", "Report the progress of a review.", _reviewing, schemas.REVIEWING,
        (Parameter("id", "the id that was sent with the game", required=True),),
    ),
    Operation(
        "GET", "/api/layers", "Count the positions of each sum in a table.", _of_table(documents.layers),
        schemas.LAYERS, (TABLE,), cost=lambda _: 500,
    ),
    Operation(
        "GET", "/api/layers/{sum}", "Describe the distribution of values of one sum.",
        _of_table(documents.layer), schemas.LAYER,
        (Parameter("sum", "the sum of a layer", "path", "integer", required=True), TABLE, OBJECTIVE),
        cost=lambda _: 500,
    ),
    Operation(
        "GET", "/api/graph", "Draw a small game, or the surroundings of a board, as SVG.",
        _of_table(documents.diagram), schemas.DIAGRAM,
        (
            TABLE, OBJECTIVE,
            Parameter("board", "whose surroundings are drawn, unless the game is small; left out: a start"),
        ),
        cost=lambda _: 500,
    ),
)  # fmt: skip
"""All requests but that for the description itself."""

# -- their description -------------------------------------------------------------------------------

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


def description() -> dict[str, Any]:
    """Return the description of the interface in OpenAPI 3.1."""
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
