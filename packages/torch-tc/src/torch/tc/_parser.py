"""Text to definitions.

A program is definitions; a definition is statements::

    def fc(float(B, M) I, float(N, M) W, float(N) b) -> (O) {
        O(i, n) +=! I(i, m) * W(n, m)
        O(i, n)   = O(i, n) + b(n)
    }

An operator is one of ``= += *= min= max=``, a reduction with ``!`` begins anew. After ``where`` come ranges (``k in 0:3``),
names for expressions (``let x = A(i) - m``) and elements that only bound variables (``exists A(i)``).
"""

from __future__ import annotations

import re
from itertools import islice

from torch.tc import _types
from torch.tc._source import Source
from torch.tc._syntax import (
    Binary,
    Call,
    Choice,
    Definition,
    Expr,
    Name,
    Number,
    Parameter,
    Range,
    Size,
    Statement,
    Unary,
    substitute,
    walk,
)

TOKEN = re.compile(
    r"(?P<number>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?f?|\d+[eE][+-]?\d+f?|\d+)"
    r"|(?P<op>(?:min|max)=!?(?!=)|->|\+=!|\*=!|\+=|\*=|==|!=|<=|>=|&&|\|\||[-+*/%(){}\[\],:=<>?!.;])"
    r"|(?P<name>[A-Za-z_]\w*)"
)
SPACE = re.compile(r"(?:\s|#[^\n]*)*")
ASSIGNMENTS = ("=", "+=", "*=", "min=", "max=", "+=!", "*=!", "min=!", "max=!")
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))
WORDS = {"def", "where", "in", "let", "exists"}
DEPTH = 50  #: of brackets within each other
CHAIN = 200  #: operators in a statement
NODES = 2000  #: of one expression


def parse(source: Source) -> tuple[Definition, ...]:
    """All definitions of a text."""
    return Parser(source).program()


class Parser:
    def __init__(self, source: Source):
        self.source, self.tokens, self.depth = source, [], 0
        text, at = source.text, SPACE.match(source.text).end()
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                raise source.error(at, f"unexpected {text[at]!r}")
            self.tokens.append((found.group(), found.lastgroup, at))
            at = SPACE.match(text, found.end()).end()
        self.tokens.append(("the end of the text", "end", len(text)))
        self.i = 0

    @property
    def text(self) -> str:
        return self.tokens[self.i][0]

    @property
    def kind(self) -> str:
        return self.tokens[self.i][1]

    @property
    def at(self) -> int:
        return self.tokens[self.i][2]

    def shown(self) -> str:
        return self.text if self.kind == "end" else repr(self.text)

    def take(self, *wanted: str) -> str:
        text = self.text
        if text not in wanted or self.kind == "end":
            names = " or ".join(map(repr, wanted))
            hint = ". Twice the braces only with constants=" if text == "{" and "{" not in wanted else ""
            raise self.source.error(self.at, f"expected {names}, got {self.shown()}{hint}")
        self.i += 1
        return text

    def skip(self, text: str) -> bool:
        if self.text == text and self.kind != "end":
            self.i += 1
            return True
        return False

    def name(self, what: str) -> str:
        if self.kind != "name" or self.text in WORDS:
            raise self.source.error(self.at, f"expected {what}, got {self.shown()}")
        self.i += 1
        return self.tokens[self.i - 1][0]

    def listed(self, one, close: str = ")") -> list:
        """Items between commas, up to the closing bracket, which is taken too."""
        found = []
        while not self.skip(close):
            if found:
                self.take(",", close)
                if self.tokens[self.i - 1][0] == close:
                    break
            found.append(one())
        return found

    def program(self) -> tuple[Definition, ...]:
        found: dict[str, Definition] = {}
        while self.kind != "end":
            one = self.definition()
            if one.name in found:
                raise self.source.error(one.at, f"{one.name} is defined twice")
            found[one.name] = one
        if not found:
            raise self.source.error(0, "no definition: expected 'def NAME(PARAMETERS) -> (RESULTS) { ... }'")
        return tuple(found.values())

    def definition(self) -> Definition:
        self.take("def")
        at = self.at
        name = self.name("the name of a definition")
        self.take("(")
        parameters = self.listed(self.parameter)
        self.take("->")
        self.take("(")
        results = self.listed(lambda: (self.at, self.name("the name of a result")))
        self.take("{")
        statements = []
        while not self.skip("}"):
            statements.append(self.statement())
            self.skip(";")
        return Definition(name, tuple(parameters), tuple((n, a) for a, n in results), tuple(statements), at)

    def parameter(self) -> Parameter:
        at, dtype = self.at, self.name("the type of a parameter, such as float(N, M)")
        if dtype not in _types.NAMES:
            raise self.source.error(at, f"no type {dtype!r}: there are {', '.join(_types.NAMES)}")
        dims = self.listed(self.dim) if self.skip("(") else []
        at = self.at
        return Parameter(self.name("the name of a parameter"), _types.NAMES[dtype], tuple(dims), at)

    def dim(self) -> Expr:
        at = self.at
        if self.kind == "number" and self.text.isdigit():
            self.i += 1
            return Number(int(self.tokens[self.i - 1][0]), at)
        return Name(self.name("the name of a size"), at)

    def statement(self) -> Statement:
        at, target, self.operators = self.at, self.name("a statement or '}'"), 0
        if self.text == ",":
            raise self.source.error(at, "a statement writes one tensor; calls of other definitions are not supported")
        indices = self.listed(lambda: (self.at, self.name("an index variable"))) if self.skip("(") else []
        op = self.take(*ASSIGNMENTS)
        value, names = self.expression(), {}
        ranges, exists = [], []
        while self.text == ("," if ranges or exists or names else "where") and self.kind != "end":
            self.i += 1
            here = self.at
            if self.skip("let"):
                name = self.name("a name")
                self.take("=")
                names[name] = self.bounded(substitute(self.expression(), names), here)
            elif self.skip("exists"):
                exists.append(self.expression())
            else:
                variable = self.name("a variable, 'let' or 'exists'")
                self.take("in")
                low = self.expression()
                self.take(":")
                ranges.append(Range(variable, low, self.expression(), here))
        places, names_of = tuple(a for a, _ in indices), tuple(n for _, n in indices)
        value = self.bounded(substitute(value, names), value.at)
        exists = [self.bounded(substitute(e, names), e.at) for e in exists]
        return Statement(target, names_of, places, op, value, tuple(ranges), tuple(exists), at)

    def bounded(self, e: Expr, at: int) -> Expr:
        """The expression, if it is of a size that recursion can walk."""
        if sum(1 for _ in islice(walk(e), NODES)) == NODES:
            raise self.source.error(at, f"an expression of more than {NODES} names and operators")
        return e

    def expression(self) -> Expr:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.source.error(self.at, f"more than {DEPTH} brackets within each other")
        condition = self.binary(0)
        at = self.at
        if self.skip("?"):
            yes = self.expression()
            self.take(":")
            condition = Choice(condition, yes, self.expression(), at)
        self.depth -= 1
        return condition

    def binary(self, level: int) -> Expr:
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.text in LEVELS[level] and self.kind == "op":
            at, op = self.at, self.take(*LEVELS[level])
            left = Binary(op, left, self.binary(level + 1), at)
            self.operators += 1
            if self.operators > CHAIN:
                raise self.source.error(at, f"more than {CHAIN} operators in one statement: divide it into several")
        return left

    def unary(self) -> Expr:
        signs = []
        while self.text in ("-", "!"):
            signs.append((self.at, self.take("-", "!")))
        value = self.atom()
        for at, op in reversed(signs):
            value = Number(-value.value, at) if op == "-" and isinstance(value, Number) else Unary(op, value, at)
        return value

    def atom(self) -> Expr:
        at, text = self.at, self.text
        if self.skip("("):
            value = self.expression()
            self.take(")")
            return value
        if self.kind == "number":
            self.i += 1
            return Number(int(text) if text.isdigit() else float(text.rstrip("f")), at)
        name = self.name("an expression")
        if self.skip("("):
            return Call(name, tuple(self.listed(self.expression)), at)
        # "A.0" is the name and the number ".0" here
        if re.fullmatch(r"\.\d+", self.text):
            self.i += 1
            return Size(name, int(self.tokens[self.i - 1][0][1:]), at)
        return Name(name, at)
