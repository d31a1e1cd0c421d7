"""Calls of operators brought into the form of their rows: one value for each parameter, by name."""

from __future__ import annotations

import functools
import re
from typing import Any

import torch
from torch import _seams
from torch._seams import Schema

from ._tape import Call, Place

Operator = type(torch.relu)


@functools.cache
def schemas() -> dict[str, list[Schema]]:
    """The schemas of every operator by name, in the order of the core."""
    found: dict[str, list[Schema]] = {}
    for row in _seams.rows():
        text = _known_types(row["schema"])
        found.setdefault(text.partition("(")[0], []).append(Schema.parse(text))
    for group in found.values():
        # A bare int fits where a list of ints is asked for: rows that ask for less go first.
        group.sort(key=lambda schema: any(a.type.startswith(("int[", "dim[")) for a in schema.arguments))
    return found


def _known_types(text):
    """Names of dims are ints to whoever looks at types; Schema.parse reads ``dtype`` and the like by PyTorch's names."""
    text = re.sub(r"\b(Number|Scalar)\b(?=\??\s)", r"\1", text)
    text = re.sub(r"\bdim(?=(\[\d*\])?\??\s\w)", "int", text)
    text = re.sub(r"\bdtype(?=\??\s\w)", "ScalarType", text)
    return text if " -> " in text else f"{text} -> ()"


def call(name: str, values: dict[str, Any], result: int) -> Call:
    """A call of an operator that the program did not make itself, whose result has a number."""
    schema = schemas()[name][0]
    arguments = {a.name: values.get(a.name, a.default_value) for a in schema.arguments}
    keywords = frozenset(a.name for a in schema.arguments if a.kwarg_only)
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default}
    return Call(name, getattr(torch.ops.aten, name), arguments, keywords, defaults, [result], True, Place((), ()))


def bind(name: str, args: tuple, kwargs: dict) -> tuple[Schema, dict]:
    """The schema that a call of an operator means, and its arguments by name.

    >>> schema, found = bind("sum", (torch.ones(2, 3), 1), {"keepdim": True})
    >>> schema.name, found["dim"], found["keepdim"], found["dtype"]
    ('sum', (1,), True, None)
    """
    reasons = []
    group = schemas().get(name, [])
    for types in (True, False):
        for schema in group:
            for a, k in _spellings(schema, args, kwargs):
                try:
                    return schema, _fit(schema, a, k, types)
                except (RuntimeError, TypeError) as error:
                    reasons.append(str(error))
    raise TypeError(
        f"{name}: no row of this name takes these arguments: {'; '.join(dict.fromkeys(reasons)) or 'no row'}"
    )


def _fit(schema, args, kwargs, types):
    found = schema.bind(schema.name, args, kwargs)
    if types:
        for a in schema.arguments:
            value = found[a.name]
            if a.type in ("Number", "Scalar"):
                fits = isinstance(value, (int, float, complex, bool)) or (
                    isinstance(value, torch.Tensor) and (a.type == "Number" or value.dim() == 0)
                )
            else:
                fits = (value is None and a.has_default) or a.fits(value)
            if not fits:
                raise TypeError(f"argument '{a.name}' is of type {a.type}, got {type(value).__name__}")
    return found


_RENAMED = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "x1": "self", "x2": "other"}


def _spellings(schema, args, kwargs):
    """The arguments as they are, with NumPy's names, with trailing ints as one list (``x.view(2, 3)``), and so with tensors."""
    names = {a.name for a in schema.arguments}
    kwargs = {k if k in names else _RENAMED.get(k, k): v for k, v in kwargs.items() if k not in _IGNORED or k in names}
    yield args, kwargs
    places = [a for a in schema.arguments if not a.kwarg_only]
    if len(places) == 1 and places[0].type == "Tensor[]":
        yield (args,), kwargs  # the tensors one by one: block_diag(x, y)
    for i, a in enumerate(places):
        if re.fullmatch(r"int\[\d*\]\??", a.type) and len(args) > i and all(map(_is_size, args[i:])):
            yield (*args[:i], tuple(args[i:])), kwargs
            break


def found_in_values(name: str, arguments: dict, results: list) -> tuple[int, list[int]] | None:
    """The dim along which an operator gives as many elements as it finds, and the results that have them. None for others.

    >>> x = torch.tensor([0, 3, 4])
    >>> found_in_values("nonzero", {"self": x}, [x.nonzero()])
    (0, [0])
    """
    if name == "index":
        places = [i for i, t in enumerate(arguments["indices"]) if t is not None]
        masks = [t for t in arguments["indices"] if t is not None and t.dtype in (torch.bool, torch.uint8)]
        apart = places != list(range(places[0], places[-1] + 1)) if places else False
        return (0 if apart else places[0], [0]) if masks and results[0].dim() else None
    if name in ("nonzero", "nonzero_tuple", "argwhere") or (name == "where" and len(arguments) == 1):
        return 0, list(range(len(results)))
    if not name.startswith(("_unique", "masked_select", "repeat_interleave", "bincount")):
        return None
    if name == "repeat_interleave" and (
        arguments.get("output_size") is not None or isinstance(arguments["repeats"], int)
    ):
        return None
    dim = arguments.get("dim") or 0
    return dim, [0, *([2] if name.startswith("_unique") and results[2].numel() else [])]


_IGNORED = {"requires_grad", "pin_memory", "layout", "out", "non_blocking"}


def _is_size(value):
    if isinstance(value, torch.Tensor):
        return value.dim() == 0 and not (value.is_floating_point() or value.is_complex() or value.dtype is torch.bool)
    return isinstance(value, int) and not isinstance(value, bool)


def is_write(schema: Schema) -> bool:
    """Whether the operator writes to its first argument."""
    return bool(schema.arguments) and schema.arguments[0].is_write


def overload(name: str, names: tuple[str, ...], args: tuple, kwargs: dict) -> Any:
    """The overload that a call of an operator is, whose row has parameters of these names; its tensors may have no memory."""
    schema = next((s for s in schemas().get(name, ()) if tuple(a.name for a in s.arguments) == names), None)
    return getattr(torch.ops.aten, name).default if schema is None else _seams.of_schema(schema, args, kwargs)
