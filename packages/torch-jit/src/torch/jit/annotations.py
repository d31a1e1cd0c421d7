"""Types of arguments in compiled programs, under the names that libraries import."""

import ast
import inspect
import re
import textwrap
import typing
from typing import Annotated, Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035

import torch
from torch.jit import Final  # noqa: F401
from torch.jit._script.source import parse


def get_signature(fn, rcb=None, loc=None, is_method=False):
    """The types of a function's parameters and of its result, as annotations or a comment say; None where neither does.

    >>> def scaled(x: torch.Tensor, k: int) -> torch.Tensor:
    ...     return x * k
    >>> torch.jit.annotations.get_signature(scaled)
    ([Tensor, int], Tensor)
    """
    signature = inspect.signature(fn)
    parameters = list(signature.parameters.values())[1 if is_method else 0 :]
    if any(each.annotation is not each.empty for each in (*parameters, *_result(signature))):
        taken = [torch.Tensor if each.annotation is each.empty else each.annotation for each in parameters]
        gives = signature.return_annotation
        names = _Names(rcb or fn.__globals__.get)
        return [_typed(each, names) for each in taken], _typed(
            torch.Tensor if gives is signature.empty else gives, names
        )
    line = _comment(fn)
    return None if line is None else parse_type_line(line, rcb or fn.__globals__.get, loc)


def _result(signature):
    return [inspect.Parameter("result", inspect.Parameter.KEYWORD_ONLY, annotation=signature.return_annotation)]


class _Names(dict):
    """What the names of an annotation stand for: those of ``typing``, Tensor, and what a callback finds."""

    def __init__(self, found):
        super().__init__(vars(typing), torch=torch, Tensor=torch.Tensor)
        self.found = found

    def __missing__(self, name):
        value = self.found(name) if self.found is not None else None
        if value is None:
            raise KeyError(name)
        return value


def _typed(annotation, names):
    # A text is a part of the program that asks.
    return ann_to_type(eval(annotation, {}, names) if isinstance(annotation, str) else annotation)


def _comment(fn):
    """The comment about types in the source of a function, or None."""
    try:
        tree = parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return getattr(tree, "type_comment", None)


def parse_type_line(type_line, rcb=None, loc=None):
    """The types in ``# type: (Tensor, int) -> Tensor``: of the parameters, and of the result.

    >>> torch.jit.annotations.parse_type_line("# type: (Tensor, List[int]) -> Tensor")
    ([Tensor, List[int]], Tensor)
    """
    line = re.sub(r"^\s*#\s*type:", "", type_line).strip()
    try:
        tree = ast.parse(line, mode="func_type")
    except SyntaxError:
        if any(isinstance(each, ast.Call) for part in line.partition("#")[0].split("->") for each in _walked(part)):
            raise RuntimeError(f"Type annotation should not contain calls, but {type_line.strip()!r} does") from None
        raise RuntimeError(
            f"Syntax error in type annotation: expected # type: (...) -> ..., got {type_line.strip()!r}"
        ) from None
    names = _Names(rcb)
    return [_typed(ast.unparse(each), names) for each in tree.argtypes], _typed(ast.unparse(tree.returns), names)


def _walked(text):
    try:
        return list(ast.walk(ast.parse(text.strip(), mode="eval")))
    except SyntaxError:
        return []


class _Broadcast:
    """``BroadcastingList2[int]``: a list of two, for which one number stands as well."""

    count = 0

    def __class_getitem__(cls, item):
        return Annotated[List[item], cls]  # noqa: UP006


BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4, BroadcastingList5, BroadcastingList6 = (
    type(f"BroadcastingList{n}", (_Broadcast,), {"count": n}) for n in range(1, 7)
)


def count_of(annotation):
    """How many numbers an annotation wants, for which one may stand; 0 where it is no ``BroadcastingList``.

    >>> from torch.jit.annotations import BroadcastingList2, count_of
    >>> count_of(BroadcastingList2[int]), count_of("BroadcastingList3[float]"), count_of(int)
    (2, 3, 0)
    """
    if isinstance(annotation, str):
        found = re.fullmatch(r"(?:[\w.]+\.)?BroadcastingList([1-6])\[.*\]", annotation.strip())
        return int(found[1]) if found else 0
    marks = getattr(annotation, "__metadata__", ())
    return next((each.count for each in marks if isinstance(each, type) and issubclass(each, _Broadcast)), 0)


def ann_to_type(ann, loc=None):
    """The type of the script language that an annotation says.

    >>> import typing
    >>> torch.jit.annotations.ann_to_type(typing.Optional[typing.List[int]])
    Optional[List[int]]
    """
    from torch.jit._script.types import from_annotation

    return from_annotation(ann)


def try_ann_to_type(ann, loc=None):
    """The same, and None for what the script language has no type for."""
    from torch.jit._script.errors import ScriptError

    try:
        return ann_to_type(ann, loc)
    except ScriptError:
        return None
