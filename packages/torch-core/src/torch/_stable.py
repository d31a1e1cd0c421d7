"""Extensions that were compiled for PyTorch's stable ABI: the libraries that they ask the loader for, and the operators of
torch that they call by name.

Such an extension (torchvision and torchaudio are two) uses C functions only. The library that has them here is loaded with
the first extension, under the names of PyTorch's own: ``lib/stable``. An extension that uses PyTorch's C++ classes as well
cannot be loaded, and is refused by the loader, which names a symbol.
"""

import ctypes
import functools
import pathlib
import re
import threading

from . import _C
from ._schemas import Schema

FOLDER = pathlib.Path(__file__).parent / "lib" / "stable"
#: what the loader says of a library of PyTorch's, or of CUDA's runtime, that an extension needs
MISSING = re.compile(r"(lib(?:torch|c10|cudart)[\w.]*): cannot open shared object file")

_opened: dict[str, ctypes.CDLL] = {}  # by name, kept for good
_lock = threading.Lock()

#: The operators that extensions may call, with the order of arguments that they count on: those of torch/csrc/stable/ops.h,
#: and what else the extensions that we have met call.
_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_FORMATTED = f"{_FACTORY}, MemoryFormat? memory_format=None"
SCHEMAS = (
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "all(Tensor self) -> Tensor",
    "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    "amax(Tensor self, int[1] dim=0, bool keepdim=False) -> Tensor",
    "bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
    "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    "contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> Tensor",
    "copy_(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    f"empty.memory_format(int[] size, *, {_FORMATTED}) -> Tensor",
    f"empty_like(Tensor self, *, {_FORMATTED}) -> Tensor",
    f"empty_strided(int[] size, int[] stride, *, {_FACTORY}) -> Tensor",
    "eq.Tensor(Tensor self, Tensor other) -> Tensor",
    "equal(Tensor self, Tensor other) -> bool",
    "exp(Tensor self) -> Tensor",
    "expand(Tensor self, int[] size, *, bool implicit=False) -> Tensor",
    "fill_.Scalar(Tensor self, Scalar value) -> Tensor",
    "flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor",
    "flip(Tensor self, int[] dims) -> Tensor",
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    f"from_file(str filename, bool? shared=None, int? size=0, *, {_FACTORY}) -> Tensor",
    f"full(int[] size, Scalar fill_value, *, {_FACTORY}) -> Tensor",
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    "ge.Tensor(Tensor self, Tensor other) -> Tensor",
    "gt.Tensor(Tensor self, Tensor other) -> Tensor",
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    "is_pinned(Tensor self, Device? device=None) -> bool",
    "log(Tensor self) -> Tensor",
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    "matmul(Tensor self, Tensor other) -> Tensor",
    "median(Tensor self) -> Tensor",
    "mm(Tensor self, Tensor mat2) -> Tensor",
    "mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "narrow(Tensor self, int dim, int start, int length) -> Tensor",
    f"new_empty(Tensor self, int[] size, *, {_FACTORY}) -> Tensor",
    f"new_full(Tensor self, int[] size, Scalar fill_value, *, {_FACTORY}) -> Tensor",
    f"new_ones(Tensor self, int[] size, *, {_FACTORY}) -> Tensor",
    f"new_zeros(Tensor self, int[] size, *, {_FACTORY}) -> Tensor",
    "nonzero(Tensor self) -> Tensor",
    f"ones(int[] size, *, {_FACTORY}) -> Tensor",
    f"ones_like(Tensor self, *, {_FORMATTED}) -> Tensor",
    "pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor",
    "permute(Tensor self, int[] dims) -> Tensor",
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    "reshape(Tensor self, int[] shape) -> Tensor",
    "roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor",
    "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor",
    "select.int(Tensor self, int dim, int index) -> Tensor",
    "sigmoid(Tensor self) -> Tensor",
    "slice.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor, Tensor)",
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor, Tensor)",
    "squeeze.dim(Tensor self, int dim) -> Tensor",
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    f"to.dtype_layout(Tensor self, *, {_FACTORY}, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor",
    "transpose.int(Tensor self, int dim0, int dim1) -> Tensor",
    "unsqueeze(Tensor self, int dim) -> Tensor",
    "view(Tensor self, int[] size) -> Tensor",
    "view.dtype(Tensor self, ScalarType dtype) -> Tensor",
    "zero_(Tensor self) -> Tensor",
    f"zeros(int[] size, *, {_FACTORY}) -> Tensor",
    f"zeros_like(Tensor self, *, {_FORMATTED}) -> Tensor",
)


def load(path):
    """Load an extension, and of PyTorch's libraries as we have them those that it asks for; OSError is the loader's."""
    asked = set()
    while True:
        try:
            ctypes.CDLL(path)
        except OSError as error:
            name = (found := MISSING.match(str(error))) and found[1]
            if name is None or name in asked or not (FOLDER / name).is_file():
                raise
            asked.add(name)
            with _lock:
                if not _opened:
                    _C._stable_serve(_call)
                if name not in _opened:
                    _opened[name] = _library(name)
        else:
            return


def _library(name):
    """CUDA's runtime from NVIDIA's wheels, if they are there; all others, and one that says that there is none, are ours."""
    wheels = (pathlib.Path(__file__).parents[1] / "nvidia").glob(f"*/lib/{name}")
    return ctypes.CDLL(str(next(wheels, FOLDER / name)))


@functools.cache
def _schemas():
    return {schema.full_name: schema for schema in map(Schema.parse, SCHEMAS)}


def _schema(name, overload):
    full = f"{name}.{overload}" if overload else name
    if (schema := _schemas().get(full)) is None:
        raise NotImplementedError(
            f"aten::{full}: an extension called it, and its order of arguments is not in torch/_stable.py"
        )
    return schema


def _call(qualified, overload, address):
    """Run an operator for an extension: arguments are taken from the stack at the address, results put there."""
    namespace, _, name = qualified.partition("::")
    if namespace == "torch":
        _OWN[name](address)
        return
    if namespace == "aten":
        schema, operator = _schema(name, overload), _operator(name)
    else:
        from . import ops

        operator = getattr(getattr(getattr(ops, namespace), name), overload or "default")
        schema = operator._schema
    stack = (ctypes.c_uint64 * max(len(schema.arguments), len(schema.returns), 1)).from_address(address)
    given = {a.name: _C._stable_take(_kind(a.type), stack[i]) for i, a in enumerate(schema.arguments)}
    given = {k: v for k, v in given.items() if v is not None and k not in ("layout", "pin_memory")}
    by_position = [given.pop(a.name) for a in _leading(schema, given)]
    result = operator(*by_position, **given)
    results = result if len(schema.returns) > 1 else (result,)
    for i, (kind, value) in enumerate(zip(schema.returns, results, strict=False)):
        stack[i] = _C._stable_give(_kind(kind), value)


def _leading(schema, given):
    """The arguments that go by position: up to the first that is None."""
    found = []
    for argument in schema.arguments:
        if argument.kwarg_only or argument.name not in given:
            break
        found.append(argument)
    return found


@functools.cache
def _operator(name):
    import torch

    for place in (torch, torch.Tensor):
        if (found := getattr(place, name, None)) is not None:
            return found
    return getattr(torch.ops.aten, name)


def _kind(text):
    """A schema's type without the marks of aliases: ``Tensor(a!)`` is a Tensor; sizes are ints."""
    return re.sub(r"\(.*?\)", "", text).replace("SymInt", "int")


def _warn(address):
    import warnings

    stack = (ctypes.c_uint64 * 1).from_address(address)
    warnings.warn(_C._stable_take("str", stack[0]), stacklevel=2)


def _requires_grad(address):
    stack = (ctypes.c_uint64 * 2).from_address(address)
    tensor = _C._stable_take("Tensor", stack[0])
    stack[0] = _C._stable_give("Tensor", tensor.requires_grad_(bool(stack[1] & 0xFF)))


def _set_grad_enabled(address):
    from ._parts import need

    need("autograd").set_grad_enabled(bool(ctypes.c_uint64.from_address(address).value & 0xFF))


def _is_grad_enabled(address):
    from ._parts import need

    ctypes.c_uint64.from_address(address).value = need("autograd").is_grad_enabled()


_OWN = {
    "warn": _warn,
    "requires_grad_": _requires_grad,
    "is_grad_enabled": _is_grad_enabled,
    "set_grad_enabled": _set_grad_enabled,
}
