"""What can be changed in a source file: one operator, comparison or constant at a time.

Left alone is what decides no answer: docstrings, annotations, decorators, messages of errors (``raise``),
assertions, texts, ``__repr__``, and arguments that only name a check or an encoding (`UNTOUCHED`).
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from dataclasses import dataclass

OPERATORS: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)), ast.Sub: ("-", ("+",)), ast.Mult: ("*", ("//",)), ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("*",)), ast.Mod: ("%", ("//",)), ast.Pow: ("**", ("*",)),
    ast.MatMult: ("@", ("*",)),
    ast.LShift: ("<<", (">>",)), ast.RShift: (">>", ("<<",)),
    ast.BitAnd: ("&", ("|",)), ast.BitOr: ("|", ("&", "^")), ast.BitXor: ("^", ("|",)),
    ast.And: ("and", ("or",)), ast.Or: ("or", ("and",)),
    ast.Lt: ("<", ("<=", ">=")), ast.LtE: ("<=", ("<", ">")), ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")), ast.Eq: ("==", ("!=",)), ast.NotEq: ("!=", ("==",)),
    ast.In: ("in", ("not in",)), ast.NotIn: ("not in", ("in",)),
    ast.Is: ("is", ("is not",)), ast.IsNot: ("is not", ("is",)),
    ast.Not: ("not ", ("",)), ast.USub: ("-", ("",)), ast.Invert: ("~", ("",)),
}  # fmt: skip
"""How each operator is written, and what replaces it."""

FUNCTIONS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
}  # fmt: skip
UNTOUCHED = {
    "strict", "encoding", "errors", "exist_ok", "stacklevel", "maxsize", "check", "allow_nan", "daemon",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One change of a line, which is named by its text and its function: they outlive edits elsewhere."""

    file: str
    function: str  # the qualified name; empty at the top of the module
    line: str  # without its indentation
    becomes: str
    number: int  # of the line, from 1
    start: int  # byte in the line at which the text to replace begins
    old: str
    new: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What the change is called in the journal and in equivalent.tsv."""
        return self.file, self.function, self.line, self.becomes

    def apply(self, source: str) -> str:
        """The changed source."""
        lines = source.splitlines(keepends=True)
        lines[self.number - 1] = _replace(lines[self.number - 1], self.start, self.old, self.new)
        return "".join(lines)

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.line}  ->  {self.becomes}"


def _replace(line: str, start: int, old: str, new: str) -> str:
    content = line.encode()
    return (content[:start] + new.encode() + content[start + len(old.encode()) :]).decode()


class _Finder:
    """Walks over a module and collects changes."""

    def __init__(self, file: str, source: str) -> None:
        self.file, self.lines = file, source.splitlines()
        self.bytes = [line.encode() for line in self.lines]
        self.found: list[Change] = []

    def visit(self, node: ast.AST, function: str) -> None:
        """Collect the changes of a node and of what is in it."""
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == "__repr__":
                return
            function = f"{function}.{node.name}".lstrip(".")
        self._own(node, function)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.keyword) and child.arg in UNTOUCHED:
                    continue
                if isinstance(child, ast.AST):
                    self.visit(child, function)

    def _own(self, node: ast.AST, function: str) -> None:
        if isinstance(node, ast.BinOp):
            if not _is_text(node.left) and not _is_text(node.right):
                self._between(node.left, node.op, node.right, function)
        elif isinstance(node, ast.AugAssign):
            symbol, others = OPERATORS[type(node.op)]
            self._replaced(node.target, node.value, f"{symbol}=", [f"{o}=" for o in others], function)
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                self._between(left, node.op, right, function)
        elif isinstance(node, ast.Compare):
            for left, op, right in zip(
                [node.left, *node.comparators], node.ops, node.comparators, strict=False
            ):
                self._between(left, op, right, function)
        elif isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            symbol, (other,) = OPERATORS[type(node.op)]
            self._add(node.lineno, node.col_offset, symbol, other, function)
        elif isinstance(node, ast.Constant):
            self._constant(node, function)
        elif isinstance(node, ast.Call):
            self._call(node.func, function)

    def _constant(self, node: ast.Constant, function: str) -> None:
        value = node.value
        if node.lineno != node.end_lineno:
            return
        if isinstance(value, bool):
            others = [str(not value)]
        elif isinstance(value, int):
            others = [str(value + 1), str(value - 1)] if value > 0 else [str(value + 1)]
        elif isinstance(value, float):
            others = [repr(2 * value) if value else "1.0"]
        else:
            return
        old = self.bytes[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
        for other in others:
            self._add(node.lineno, node.col_offset, old, other, function)

    def _call(self, called: ast.expr, function: str) -> None:
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in FUNCTIONS and called.end_lineno and called.end_col_offset:
            start = called.end_col_offset - len(name.encode())
            self._add(called.end_lineno, start, name, FUNCTIONS[name], function)

    def _between(self, left: ast.expr, op: ast.AST, right: ast.expr, function: str) -> None:
        symbol, others = OPERATORS[type(op)]
        self._replaced(left, right, symbol, others, function)

    def _replaced(
        self, left: ast.expr, right: ast.expr, symbol: str, others: tuple[str, ...] | list[str], function: str
    ) -> None:
        """The operator stands somewhere between its operands, perhaps behind brackets and on another line."""
        assert left.end_lineno is not None
        assert left.end_col_offset is not None
        for number in range(left.end_lineno, right.lineno + 1):
            line = self.bytes[number - 1]
            start = left.end_col_offset if number == left.end_lineno else 0
            end = right.col_offset if number == right.lineno else len(line)
            at = line[start:end].partition(b"#")[0].find(symbol.encode())
            if at >= 0:
                for other in others:
                    self._add(number, start + at, symbol, other, function)
                return

    def _add(self, number: int, start: int, old: str, new: str, function: str) -> None:
        line = self.lines[number - 1]
        becomes = _replace(line, start, old, new)
        self.found.append(Change(self.file, function, line.strip(), becomes.strip(), number, start, old, new))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def changes_in(file: str, source: str) -> list[Change]:
    """All changes of a file, by line."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source), "")
    return sorted(set(finder.found), key=lambda change: (change.number, change.start, change.new))


def sample(changes: list[Change], count: int, seed: int) -> list[Change]:
    """So many lines, and of each one change.

    Lines are ordered by a hash of the seed, their text and their function: an edit exchanges the changes of
    the lines that it touches, and no others.
    """
    lines: dict[tuple[str, int], list[Change]] = {}
    for change in changes:
        lines.setdefault((change.file, change.number), []).append(change)
    seen: Counter[tuple[str, str, str]] = Counter()
    ordered: list[tuple[bytes, Change]] = []
    for found in lines.values():
        name = found[0].key[:3]
        occurrence = seen[name]
        seen[name] += 1
        best = min(found, key=lambda change: _hash(seed, *change.key, change.start))
        ordered.append((_hash(seed, *name, occurrence), best))
    ordered.sort(key=lambda pair: pair[0])
    return [change for _, change in ordered[:count]]


def _hash(*parts: object) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()
