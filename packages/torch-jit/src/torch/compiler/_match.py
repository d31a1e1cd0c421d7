"""``match`` as the comparisons and reads that it stands for, so that each is told to the observer.

``case Point(x=0, y=b) if b:`` reads
``if watch.is_a(s, Point) and watch.has(s, "x") and watch.comparison("Eq", watch.attr(s, "x"), 0) and ...``, where ``s`` is the subject.
"""

from __future__ import annotations

import ast
import collections.abc

_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class Patterns:
    """The part of a rewriting that is about ``match``; expressions within patterns are rewritten as any others."""

    def visit_Match(self, node):
        subject = f"__torch_subject_{node.lineno}_{node.col_offset}"
        out = None
        for case in reversed(node.cases):
            test = self._pattern(case.pattern, ast.Name(subject, ast.Load()), node)
            if case.guard is not None:
                test = ast.BoolOp(ast.And(), [test, self._watch("truth", case.guard, self.visit(case.guard))])
            body = []
            for statement in case.body:
                seen = self.visit(statement)
                body.extend(seen if isinstance(seen, list) else [seen])
            out = ast.copy_location(ast.If(test, body, [out] if out else []), case.pattern)
        given = ast.Assign([ast.Name(subject, ast.Store())], self.visit(node.subject))
        made = [ast.copy_location(given, node), out]
        for each in made:
            ast.fix_missing_locations(each)
        return made

    def _pattern(self, pattern, value, at):
        """The test for a pattern, of an expression that can be written again and again."""
        return getattr(self, f"_{type(pattern).__name__}")(pattern, value, at)

    def _MatchValue(self, pattern, value, at):
        return self._watch("comparison", pattern, ast.Constant("Eq"), value, self.visit(pattern.value))

    def _MatchSingleton(self, pattern, value, at):
        told = value if pattern.value is None else self._watch("is_truth", pattern, value)
        return ast.Compare(told, [ast.Is()], [ast.Constant(pattern.value)])

    def _MatchOr(self, pattern, value, at):
        return ast.BoolOp(ast.Or(), [self._pattern(each, value, at) for each in pattern.patterns])

    def _MatchAs(self, pattern, value, at):
        tests = [self._pattern(pattern.pattern, value, at)] if pattern.pattern is not None else []
        if pattern.name is not None:
            tests.append(_taken(pattern.name, value))
        return _all(tests)

    def _MatchSequence(self, pattern, value, at):
        stars = [i for i, each in enumerate(pattern.patterns) if isinstance(each, ast.MatchStar)]
        size = len(pattern.patterns) - len(stars)
        tests = [self._watch("is_sequence", pattern, value, ast.Constant(size), ast.Constant(bool(stars)))]
        for i, each in enumerate(pattern.patterns):
            behind = len(pattern.patterns) - 1 - i
            if isinstance(each, ast.MatchStar):
                if each.name is not None:
                    rest = self._watch("between", each, value, ast.Constant(i), ast.Constant(behind))
                    tests.append(_taken(each.name, rest))
                continue
            index = i if not stars or i < stars[0] else -1 - behind
            tests.append(self._pattern(each, self._watch("item", each, value, ast.Constant(index)), at))
        return _all(tests)

    def _MatchMapping(self, pattern, value, at):
        tests, keys = [self._watch("is_mapping", pattern, value)], []
        for key, each in zip(pattern.keys, pattern.patterns):
            key = self.visit(key)
            keys.append(key)
            tests.append(self._watch("comparison", each, ast.Constant("In"), key, value))
            tests.append(self._pattern(each, self._watch("item", each, value, key), at))
        if pattern.rest is not None:
            tests.append(_taken(pattern.rest, self._watch("without", pattern, value, *keys)))
        return _all(tests)

    def _MatchClass(self, pattern, value, at):
        kind = self.visit(pattern.cls)
        tests = [self._watch("is_a", pattern, value, kind)]
        for i, each in enumerate(pattern.patterns):
            place = ast.Constant(i)
            tests.append(self._watch("has_part", each, value, kind, place))
            tests.append(self._pattern(each, self._watch("part", each, value, kind, place), at))
        for name, each in zip(pattern.kwd_attrs, pattern.kwd_patterns):
            tests.append(self._watch("has", each, value, ast.Constant(name)))
            tests.append(self._pattern(each, self._watch("attr", each, value, ast.Constant(name)), at))
        return _all(tests)


def _all(tests):
    if not tests:
        return ast.Constant(True)
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _taken(name, value):
    """``name`` becomes the value, whatever it is."""
    named = ast.NamedExpr(ast.Name(name, ast.Store()), value)
    return ast.BoolOp(ast.Or(), [ast.Compare(named, [ast.Is()], [ast.Constant(None)]), ast.Constant(True)])


def captured(pattern):
    """The name that a pattern gives to what it matches, if any."""
    if isinstance(pattern, (ast.MatchAs, ast.MatchStar)):
        return pattern.name
    return pattern.rest if isinstance(pattern, ast.MatchMapping) else None


class Matches:
    """The part of an observer that patterns are told to."""

    def is_a(self, value, kind):
        """``case kind(...)``."""
        return self.apply(isinstance, value, kind)

    def has(self, value, name):
        """Whether a value has the attribute that a pattern names."""
        return self.apply(hasattr, value, name)

    def is_sequence(self, value, size, more):
        """``case [a, b, *rest]``."""
        texts = str, bytes, bytearray
        if isinstance(value, texts) or not self._is_of(value, collections.abc.Sequence):
            return False
        found = self.apply(len, value)
        return found >= size if more else found == size

    def is_mapping(self, value):
        """``case {...}``."""
        return self._is_of(value, collections.abc.Mapping)

    def _is_of(self, value, kind):
        self.working, before = True, self.working  # Python asks in functions of its own
        try:
            return isinstance(value, kind)
        finally:
            self.working = before

    def between(self, value, first, behind):
        """What ``*rest`` stands for."""
        return [self.item(value, i) for i in range(first, self.apply(len, value) - behind)]

    def without(self, value, *keys):
        """What ``**rest`` stands for."""
        return {key: self.item(value, key) for key in self.iter(value) if key not in keys}

    def has_part(self, value, kind, i):
        """Whether there is what a pattern of a class names by its place."""
        name = self._place_of(kind, i)
        return name is None or self.has(value, name)

    def part(self, value, kind, i):
        """What a pattern of a class names by its place."""
        name = self._place_of(kind, i)
        return value if name is None else self.attr(value, name)

    def _place_of(self, kind, i):
        names = self.attr(kind, "__match_args__") if self.has(kind, "__match_args__") else ()
        if i < len(names):
            return names[i]
        if i == 0 and not names and issubclass(kind, _WHOLE):
            return None
        raise TypeError(f"{kind.__name__}() accepts {len(names)} positional sub-patterns (at least {i + 1} given)")
