"""Signatures of operators, and arguments brought into one form by them."""

import functools
import inspect
import numbers
import re
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import torch
from torch import _seams

from ._names import Operator

__all__ = [
    "ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op", "normalize_function",
    "normalize_module", "type_matches",
]  # fmt: skip


class ArgsKwargsPair(NamedTuple):
    """Arguments by position and by name."""

    args: tuple
    kwargs: dict


# --- signatures from the rows of the core ---

_TYPES = {
    "Tensor": torch.Tensor, "Number": torch.Tensor | numbers.Number, "int": int, "float": float, "bool": bool, "str": str,
    "dtype": torch.dtype, "device": torch.device, "layout": torch.layout, "memory_format": torch.memory_format, "dim": int,
    "Generator": torch.Generator, "complex": complex,
}  # fmt: skip


@functools.cache
def _rows() -> dict:
    """The schemas of every operator by name."""
    found: dict = {}
    for row in _seams.rows():
        found.setdefault(row["schema"].partition("(")[0], []).append(row)
    return found


def _annotation(text: str):
    text = re.sub(r"\([a-z]+!?\)", "", text).strip()
    if text.endswith("?"):
        return Optional[_annotation(text[:-1])]  # noqa: UP045  (a type of the field, as hints compare with it)
    if match := re.fullmatch(r"(.+)\[\d*\]", text):
        return list[_annotation(match[1])]
    return _TYPES.get(text, Any)


def _signature(schema: str) -> inspect.Signature:
    """
    >>> str(_signature("add(Tensor self, int dim=0, *, dtype? dtype=None) -> Tensor"))
    '(input: torch.Tensor, dim: int = 0, *, dtype: Optional[torch.dtype] = None) -> torch.Tensor'
    """
    head, _, result = schema.rpartition(" -> ")
    inside = head[head.index("(") + 1 : -1]
    kind, parameters = inspect.Parameter.POSITIONAL_OR_KEYWORD, []
    for part in re.split(r",\s*(?![^\[\(]*[\]\)])", inside) if inside else ():
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        spelt, _, default = part.partition("=")
        annotation, _, name = spelt.rpartition(" ")
        value = inspect.Parameter.empty if not default else _default(default)
        name = {"self": "input", "from": "from_"}.get(name, name)
        parameters.append(inspect.Parameter(name, kind, default=value, annotation=_annotation(annotation)))
    results = (
        [_annotation(re.sub(r" \w+$", "", each)) for each in re.split(r",\s*", result.strip("()"))] if result else []
    )
    returned = results[0] if len(results) == 1 else tuple[tuple(results)] if results else None
    return inspect.Signature(parameters, return_annotation=returned)


_NAMED = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan"), "[]": []}


def _default(text):
    if text in _NAMED:
        return _NAMED[text]
    if re.fullmatch(r"\[[-\d, ]*\]", text):
        return [int(each) for each in re.findall(r"-?\d+", text)]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return getattr(torch, text, text.strip("'\""))


def get_signature_for_torch_op(op: Callable, return_schemas: bool = False):
    """The signatures of an operator, one for each overload; None for what is no operator of the core.

    With ``return_schemas`` a pair of them and of the texts that they come from.
    """
    rows = _rows().get(getattr(op, "__name__", None), []) if isinstance(op, Operator) else []
    if not rows:
        return (None, None) if return_schemas else None
    schemas = [row["schema"] for row in rows]
    signatures = list(map(_signature, schemas))
    return (signatures, schemas) if return_schemas else signatures


def check_for_mutable_operation(target, args, kwargs):
    """Raise RuntimeError for an operator that writes to its arguments, as these arguments call it."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    for signature, schema in zip(signatures or (), schemas or (), strict=True):
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        if "!" in schema.partition(" -> ")[0]:
            raise RuntimeError(f"Tried to trace mutable operation {schema}. FX only supports functional code")


# --- types ---


def create_type_hint(x):
    """The type of a list or tuple of types: ``List[int]`` for ``[int, int]``."""
    if not isinstance(x, (list, tuple)):
        return x
    kind = list if isinstance(x, list) else None
    if not x:
        return list[Any] if kind else tuple[Any, ...]
    first = x[0]
    for each in x[1:]:
        if each is first or (isinstance(each, type) and isinstance(first, type) and issubclass(each, first)):
            continue
        first = each if isinstance(each, type) and isinstance(first, type) and issubclass(first, each) else Any
    return list[first] if kind else tuple[first, ...]


def type_matches(signature_type, argument_type) -> bool:
    """Whether an argument of one type goes where a signature says another.

    >>> type_matches(float, int), type_matches(int, float), type_matches(list[int], list[int])
    (True, False, True)
    """
    if signature_type is argument_type or signature_type is Any or signature_type is inspect.Parameter.empty:
        return True
    origin = typing.get_origin(signature_type)
    if origin in (typing.Union, types.UnionType):
        return any(type_matches(each, argument_type) for each in typing.get_args(signature_type))
    if origin in (list, tuple):
        inner = typing.get_args(signature_type)[0]
        given = typing.get_args(argument_type)
        if typing.get_origin(argument_type) in (list, tuple):
            return all(type_matches(inner, each) for each in given if each is not ...)
        return (
            argument_type in (list, tuple)
            or (inner is int and argument_type is int)
            or issubclass(argument_type, (list, tuple))
        )
    if not isinstance(signature_type, type) or not isinstance(argument_type, type):
        return signature_type == argument_type
    if signature_type is float:
        return issubclass(argument_type, (int, float))
    if signature_type is complex:
        return issubclass(argument_type, (int, float, complex))
    return issubclass(argument_type, signature_type)


# --- normal forms ---


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call with defaults filled in and, if asked, all by name; None where no signature fits. Types tell
    signatures apart where several take the arguments.

    >>> normalize_function(torch.nn.functional.relu, (torch.ones(1),), normalize_to_only_use_kwargs=True).kwargs["inplace"]
    False
    """
    fitting = [(each, bound) for each in _candidates(target) if (bound := _bound(each, args, kwargs or {})) is not None]
    if arg_types is not None and len(fitting) > 1:
        fitting = [(each, bound) for each, bound in fitting if _types_fit(each, arg_types, kwarg_types or {})]
    return _normal(*fitting[0], normalize_to_only_use_kwargs) if fitting else None


def _bound(signature, args, kwargs):
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        return None


def _candidates(target):
    signatures = get_signature_for_torch_op(target)
    if signatures:
        return signatures
    try:
        return [inspect.signature(target)]
    except (TypeError, ValueError):
        return []


def _types_fit(signature, arg_types, kwarg_types):
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    return all(
        type_matches(signature.parameters[name].annotation, create_type_hint(kind))
        for name, kind in bound.arguments.items()
    )


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """:func:`normalize_function` for a call of the submodule at path ``target`` of ``root``; None where the arguments do
    not fit its forward."""
    forward = type(root.get_submodule(target)).forward
    signature = inspect.signature(forward)
    signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    try:
        return _normal(signature, signature.bind(*args, **(kwargs or {})), normalize_to_only_use_kwargs)
    except TypeError:
        return None


def _normal(signature, bound, only_kwargs):
    bound.apply_defaults()
    parameters = signature.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    if only_kwargs:
        return ArgsKwargsPair((), dict(bound.arguments))
    return ArgsKwargsPair(bound.args, bound.kwargs)
