"""Functions of torch that choose by an argument what to compute, called with one that only the run tells: a branch for each value."""

from __future__ import annotations

import inspect
import warnings

from .. import _ir as ir
from . import library, types
from .errors import ScriptError
from .values import Static

__all__ = ["Choices"]

_WORDS = {
    "reduction": ("mean", "sum", "none"), "padding_mode": ("zeros", "border", "reflection"), "approximate": ("none", "tanh"),
}  # fmt: skip
_MODES = {
    "pad": ("constant", "reflect", "replicate", "circular"), "grid_sample": ("bilinear", "nearest", "bicubic"),
    "embedding_bag": ("mean", "sum", "max"),
}  # fmt: skip
_MOST = 160  # ways that are tried before the function is called in Python


class Choices:
    """Emits calls of functions of torch by cases."""

    def by_cases(self, fn, args, kwargs):
        """The call for each value of the arguments that keep it from being compiled; ScriptError where that helps nothing."""
        items = self.bind(inspect.signature(fn), args, kwargs, fn.__name__)
        before, self.in_cases = self.in_cases, True  # no case is called in Python
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of cases that no call may ask for
                return self._split(fn, items, iter(range(_MOST)))
        finally:
            self.in_cases = before

    def _cased(self, fn, items, tries):
        if next(tries, None) is None:
            raise self.error(f"{fn.__name__}() has too many cases")
        since, frame = self.last(), self.frame
        try:
            handler = library.function(fn)
            return self.inline(fn, [], items) if handler is None else handler(self, **items)
        except (ScriptError, RecursionError):
            self.frame = frame
            self.discard(since)
        return self._split(fn, items, tries)

    def _split(self, fn, items, tries):
        order = (_word, _optional_number, _optional, _flag)
        found = next((case for of in order for name in items if (case := of(self, fn, name, items[name]))), None)
        if found is None:
            raise self.error(f"{fn.__name__}() cannot be compiled for these arguments")
        name, cases = found
        return self._branches(fn, items, name, cases, tries)

    def _branches(self, fn, items, name, cases, tries):
        (condition, item), *rest = cases
        if condition is None:
            return self._cased(fn, {**items, name: item()}, tries) if item else self._none_of(fn, name, items[name])
        made, frames = self.open_if(condition())
        emit = (
            lambda: self._cased(fn, {**items, name: item()}, tries),
            lambda: self._branches(fn, items, name, rest, tries),
        )
        values = {}
        for frame, each in zip(frames, emit):
            with self.within(frame.block):
                values[id(frame)] = self.value(self.in_frame(frame, each))
        return self.joined_value(made, values, frames)

    def _none_of(self, fn, name, value):
        text = self.op("add", self.constant(f"{fn.__name__}: {name} may not be "), value)
        self.node("prim::RaiseException", [text, self.constant("ValueError")])
        return self.uninitialized(types.TENSOR)


def _word(emitter, fn, name, item):
    """The cases of a text; each is a condition and the argument where it holds, the last one has none."""
    words = _MODES.get(fn.__name__) if name == "mode" else _WORDS.get(name)
    if words is None or not isinstance(item, ir.Value) or item.type() != types.STR:
        return None
    equals = lambda word: lambda: emitter.op("eq", item, emitter.constant(word))
    return name, [*((equals(word), lambda word=word: Static(word)) for word in words), (None, None)]


def _optional(emitter, fn, name, item):
    if not isinstance(item, ir.Value) or not types.is_optional(item.type()):
        return None
    is_none = lambda: emitter.op("__is__", item, emitter.constant(None))
    kept = lambda: emitter.node("prim::unchecked_cast", [item], [item.type().getElementType()]).output()
    return name, [(is_none, lambda: Static(None)), (None, kept)]


def _optional_number(emitter, fn, name, item):
    found = _optional(emitter, fn, name, item)
    return found if found is None or item.type().getElementType().kind() != "TensorType" else None


def _flag(emitter, fn, name, item):
    if not isinstance(item, ir.Value) or item.type() != types.BOOL:
        return None
    return name, [(lambda: item, lambda: Static(True)), (None, lambda: Static(False))]
