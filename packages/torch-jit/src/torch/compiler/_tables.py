"""What the compiler knows of functions, methods and attributes by their names: which depend only on their arguments, which
read values, which change what they are called on.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
import os
import sys
import types

import torch
from torch import _seams

Operator = type(torch.relu)
DICTS = (collections.OrderedDict, collections.defaultdict, types.MappingProxyType)
INDEXED = frozenset((list, tuple, dict, str, bytes, range, torch.Size, slice, *DICTS))
CONTAINERS = (list, dict, set, collections.OrderedDict, collections.defaultdict, collections.deque)
PLAIN_OWNERS = (str, bytes, int, float, complex, bool, tuple, range, slice, frozenset, torch.dtype, torch.device)
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
#: of classes that Python makes, and that may change; and of those with methods that are missing
HEAP, ABSTRACT = 1 << 9, 1 << 20
#: classes of C whose instances, and those of subclasses, a program can make anew
BASES = (object, dict, collections.OrderedDict, list, set)

#: functions in C that depend on their arguments and change nothing
PURE = {
    abs, all, any, bool, bytes, callable, chr, complex, dict, divmod, enumerate, filter, float, format, frozenset, int,
    isinstance, issubclass, iter, len, list, map, max, min, next, ord, pow, range, reversed, round, set, slice, sorted, str,
    sum, tuple, zip, repr, collections.OrderedDict, collections.defaultdict, collections.deque, object, functools.reduce,
    functools.partial, torch.Size, torch.device, torch.is_grad_enabled, torch.get_default_dtype,
    collections._count_elements, dict.fromkeys, collections.OrderedDict.fromkeys, int.from_bytes, bytes.fromhex, float.fromhex, str.maketrans,
    itertools.chain.from_iterable, torch.is_inference_mode_enabled, torch.is_tensor, _seams.is_casting, _seams.operator,
}  # fmt: skip
for _module in (math, operator, itertools):
    PURE |= {f for n, f in vars(_module).items() if callable(f) and not n.startswith("_")}
PURE -= {operator.setitem, operator.delitem, operator.attrgetter, operator.methodcaller}
PURE -= {getattr(operator, n) for n in dir(operator) if n.startswith("i") and n[1:] in dir(operator)}
#: builtins that iterate, over their first argument; over all; and over all but the first
_OF_FIRST = (
    enumerate, list, tuple, set, frozenset, sum, any, all, iter, reversed, max, min, dict, sorted, collections.deque, itertools.islice, itertools.cycle,
    itertools.pairwise, itertools.accumulate, itertools.groupby, itertools.permutations, itertools.combinations,
)  # fmt: skip
OF_ALL = frozenset((zip, itertools.chain, itertools.product, itertools.zip_longest, itertools.compress))
OF_REST = frozenset((
    map, filter, functools.reduce, itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.filterfalse,
))  # fmt: skip
ITERATING = OF_ALL | OF_REST | frozenset(_OF_FIRST)
#: of Python's own, what calls a function that it is given
CALLING = frozenset((
    map, filter, sorted, max, min, functools.reduce, itertools.accumulate, itertools.dropwhile, itertools.filterfalse,
    itertools.groupby, itertools.starmap, itertools.takewhile,
))  # fmt: skip
#: methods in C of tensors that are no operators
OF_TENSORS = frozenset((
    "dim", "element_size", "get_device", "is_complex", "is_contiguous", "is_floating_point", "is_same_size",
    "is_signed", "ndimension", "nelement", "numel", "size", "stride", "to", "type",
))  # fmt: skip
#: attributes of tensors that follow from what is guarded, or are operators
TENSOR_ATTRIBUTES = frozenset((
    "shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_cpu", "is_cuda", "is_meta", "is_sparse",
    "is_quantized", "is_nested", "itemsize", "nbytes", "T", "mT", "H", "mH", "real", "imag", "is_mkldnn",
    "is_sparse_csr", "is_mps", "is_xla", "is_xpu",
))  # fmt: skip
#: methods in Python of tensors, and properties, that are operators composed of others
TENSOR_FUNCTIONS = frozenset((
    "adjoint", "bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "char", "corrcoef", "cov", "cpu", "double",
    "fill_diagonal_", "float", "float_power_", "half", "int", "long", "narrow_copy", "renorm", "renorm_", "short",
    "type_as", "unique", "unique_consecutive", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "where", "is_conj", "is_neg",
    "is_distributed",
))  # fmt: skip
#: of those, what asks its second argument only what guards know
OF_DTYPES = frozenset(("type_as", "_type_as"))
#: operators that give as many rows as values say, and may stand in a program that asks nothing of their number
FINDING = frozenset((
    "nonzero", "nonzero_tuple", "argwhere", "masked_select", "_unique", "_unique_dim", "_unique_consecutive", "bincount",
))  # fmt: skip
#: operators that answer by numbers, or by tensors whose size depends on values
VALUES = FINDING | frozenset((
    "equal", "allclose", "is_nonzero", "item", "_local_scalar_dense", "_unique2", "nonzero_static", "is_coalesced", "_nnz",
    "resize_", "resize_as_", "set_", "detach_", "result_type", "can_cast", "lstsq", "linalg_lstsq",
))  # fmt: skip
#: nodes of numbers that compute as Python does, where ``aten`` has none or computes as scripts do
EXACT = (
    "prim::exact_add", "prim::exact_sub", "prim::exact_mul", "prim::exact_pow", "prim::abs", "prim::max", "prim::min",
)  # fmt: skip
#: elements of a tensor that become a list of numbers
FEW = 64
#: methods of containers that change them
MUTATING = frozenset((
    "append", "extend", "insert", "pop", "popitem", "remove", "clear", "sort", "reverse", "update", "setdefault",
    "add", "discard", "appendleft", "popleft", "extendleft", "move_to_end", "__setitem__", "__delitem__", "rotate",
    "difference_update", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__", "__missing__", "intersection_update", "symmetric_difference_update",
))  # fmt: skip
#: methods of containers that compare their argument
BY_IDENTITY = frozenset((
    "index", "count", "remove", "get", "pop", "setdefault", "__contains__", "__getitem__", "discard", "add",
))  # fmt: skip
#: modules of torch whose functions depend only on their arguments
TRUSTED = (
    "torch.nn.functional", "torch.functional", "torch.special", "torch.linalg", "torch.fft", "torch._operators.composed", "torch._operators.products",
    "torch._tensor", "torch.nn.modules.utils",
)  # fmt: skip
#: folders of torch whose functions do more than operators
_LOUD = frozenset((
    "modules", "optim", "distributed", "distributions", "utils", "jit", "export", "fx", "func", "_dynamo", "compiler", "nested",
))  # fmt: skip


def module_class():
    """torch.nn.Module, if it is loaded; else ()."""
    nn = sys.modules.get("torch.nn")
    return getattr(nn, "Module", ()) if nn is not None else ()


def tensor_classes():
    """Classes of tensors beside Tensor itself that are tensors and nothing else."""
    nn = sys.modules.get("torch.nn")
    return (nn.Parameter, nn.Buffer) if nn is not None else ()


def of_torch(file):
    """The path of a file of torch from torch's folder; None for others. Parts may lie in folders of their own."""
    for folder in torch.__path__:
        if file.startswith(folder + os.sep):
            return file[len(folder) + 1 :]
    return None


def is_quiet(file):
    """Whether the functions of a file of torch do what operators do, and may run by themselves."""
    within = of_torch(file)
    return within is not None and not any(part in _LOUD for part in within.split(os.sep))


def is_torchs(name):
    """Whether a module of Python belongs to torch."""
    return name == "torch" or (isinstance(name, str) and name.startswith("torch."))


def is_mode(kind):
    """Whether a class is a mode of gradients, autocast, or ``nullcontext``."""
    import contextlib

    if is_cast(kind):
        return True
    grad = sys.modules.get("torch.autograd.grad_mode")
    return kind is contextlib.nullcontext or (
        grad is not None and kind in (grad.no_grad, grad.enable_grad, grad.set_grad_enabled)
    )


def is_cast(kind):
    """Whether a class is autocast, whose casts are recorded as what they are."""
    amp = sys.modules.get("torch.amp.autocast_mode")
    return amp is not None and isinstance(kind, type) and issubclass(kind, amp.autocast)


def is_builtin(kind):
    """Whether a class is Python's own, and not one that a namespace without a name made."""
    return kind.__module__ == "builtins" and kind.__flags__ & (HEAP | 1 << 8) != HEAP  # 1 << 8: it cannot be changed


def is_kind_of(kind, *bases):
    """Whether a class is one of these, or was made in Python of one of them and of nothing else in C.

    >>> is_kind_of(collections.OrderedDict, dict), is_kind_of(type("Named", (dict,), {}), dict)
    (False, True)
    """
    rest = [base for base in kind.__mro__ if not base.__flags__ & HEAP and base.__module__ != "typing"]
    return rest[0] in bases if rest else False


def has_dict(value):
    """Whether an object keeps its attributes in its dict, and nothing in C."""
    kind = type(value)
    for base in kind.__mro__:
        if base is object or base.__module__ == "typing":
            continue
        if not base.__flags__ & HEAP and not str(base.__module__).startswith("torch"):
            return False
    return kind.__dictoffset__ != 0


def is_hashable(value):
    """Whether a value can be looked up."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def tensors_in(value, depth=4):
    """The tensors of lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each, depth - 1)
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each, depth - 1)
