"""What both layouts share: a class of tensor whose attributes are those of what it holds, and whose operators go through a
table. What is in neither is refused by name."""

from __future__ import annotations

import inspect

from .. import _C
from .._parts import need

_OWN = ("_values", "_offsets", "_lengths", "_ragged", "_length", "_items", "_buffer", "_seqlens")


def _held(name):
    """An attribute that is the same for the packed values, or for each item."""

    def get(self):
        return getattr(self._sample(), name)

    return property(get, doc=getattr(getattr(_C.Tensor, name, None), "__doc__", None))


class Nested(_C.Tensor):
    """A tensor that holds tensors of several lengths."""

    is_nested = True
    handlers: dict = {}

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from . import _rules  # noqa: F401  (fills the tables)

        if getattr(func, "__module__", None) == "torch.autograd._gradients":  # which take any tensor
            with _C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        name = func.__name__
        handler = cls.handlers.get(name) or cls.handlers.get(f"__{name}__")
        if handler is None:
            handler = cls.other(name)
        return handler(func, *args, **(kwargs or {}))

    @classmethod
    def other(cls, name):
        """For a function that is not in the table: element-wise ones need no entry."""
        raise NotImplementedError(
            f"{name}: not there for nested tensors of layout {cls.layout}; take the tensors by unbind() or to_padded_tensor()"
        )

    def _sample(self):
        raise NotImplementedError

    dtype, device, is_cuda, is_cpu, is_meta = map(_held, ("dtype", "device", "is_cuda", "is_cpu", "is_meta"))
    itemsize = _held("itemsize")

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def element_size(self):
        return self.dtype.itemsize

    def get_device(self):
        return self._sample().get_device()

    # --- gradients ---

    @property
    def requires_grad(self):
        return any(t.requires_grad for t in self._tensors())

    @requires_grad.setter
    def requires_grad(self, value):
        for t in self._tensors():
            t.requires_grad = value

    def requires_grad_(self, requires_grad=True):
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self):
        return all(t.is_leaf for t in self._tensors())

    @property
    def grad_fn(self):
        return next((t.grad_fn for t in self._tensors() if t.grad_fn is not None), None)

    @property
    def grad(self):
        gradients = [t.grad for t in self._tensors()]
        return None if any(g is None for g in gradients) else self._with(gradients)

    @grad.setter
    def grad(self, value):
        for t, g in zip(
            self._tensors(), [None] * len(self._tensors()) if value is None else value._tensors(), strict=True
        ):
            t.grad = g

    @property
    def data(self):
        return self.detach()

    def retain_grad(self):
        for t in self._tensors():
            t.retain_grad()

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Backward from each tensor held, with the gradient's tensors."""
        if gradient is None:
            raise RuntimeError(
                "backward: a nested tensor is not one number: give a nested gradient, or take sum() before"
            )
        if not getattr(gradient, "is_nested", False):
            raise TypeError(f"backward: expected a nested gradient, got {type(gradient).__name__}")
        need("autograd").backward(self._tensors(), gradient._tensors(), retain_graph, create_graph, inputs=inputs)

    # --- Python ---

    ndim = property(lambda self: self.dim())

    def ndimension(self):
        return self.dim()

    def nelement(self):
        return self.numel()

    def __len__(self):
        return self.size(0)

    def __iter__(self):
        return iter(self.unbind())

    def __bool__(self):
        raise RuntimeError("Boolean value of a nested tensor is ambiguous: use any() or all()")

    def __deepcopy__(self, memo):
        from copy import deepcopy

        made = self._with([deepcopy(t, memo) for t in self._tensors()])
        memo[id(self)] = made
        return made

    def __copy__(self):
        return self._with(self._tensors())

    def __format__(self, spec):
        return format(str(self), spec)

    def __hash__(self):
        return id(self)

    def type(self, dtype=None, non_blocking=False):
        return self._sample().type() if dtype is None else self.to(dtype)

    def cpu(self):
        return self.to("cpu")

    def is_same_size(self, other):
        return getattr(other, "is_nested", False) and [t.shape for t in self.unbind()] == [
            t.shape for t in other.unbind()
        ]

    mT = property(lambda self: self.transpose(-2, -1))


def _converts(name, dtype):
    def convert(self):
        return self.to(dtype)

    convert.__name__ = name
    convert.__doc__ = f"The nested tensor converted to {dtype}."
    return convert


def _refused(name):
    def refuse(self, *args, **kwargs):
        raise NotImplementedError(
            f"{name}: not there for nested tensors; take the tensors by unbind(), values() or to_padded_tensor()"
        )

    static = inspect.getattr_static(_C.Tensor, name)
    return property(refuse) if inspect.isdatadescriptor(static) else refuse


def seal(cls):
    """Attributes of a tensor that are no operators would tell of the empty tensor below: they are refused unless the class
    has its own."""
    from .._tensor import CONVERSIONS

    for name, dtype in CONVERSIONS.items():
        setattr(Nested, name, _converts(name, dtype))
    operator = type(_C._operator("add"))
    known = {name for base in cls.__mro__[:-2] for name in vars(base)}
    for name in dir(_C.Tensor):
        public = not name.startswith("_") or name in (
            "__array__",
            "__float__",
            "__int__",
            "__index__",
            "__complex__",
            "__dlpack__",
        )
        static = inspect.getattr_static(_C.Tensor, name)
        if public and name not in known and name not in _KEPT and not isinstance(static, operator):
            setattr(cls, name, _refused(name))


#: what a nested tensor may be asked as any tensor: operators by another name, and questions of no device
_KEPT = {
    "to", "as_subclass", "is_sparse", "is_sparse_csr", "is_quantized", "is_mkldnn", "is_mps", "is_xla", "is_xpu", "is_mtia", "is_ipu",
    "is_maia", "is_vulkan", "is_distributed", "is_inference", "is_conj", "is_neg", "name", "volatile", "output_nr", "where",
    "__torch_function__", "is_shared", "is_pinned",
}  # fmt: skip


def same_dims(tensors):
    if len({t.dim() for t in tensors}) > 1:
        raise RuntimeError(
            f"a nested tensor holds tensors of as many dims each, got {[tuple(t.shape) for t in tensors]}"
        )
    return tensors


def nested(kind, tensors, dtype=None, device=None):
    """The nested tensor of a list, connected with its tensors."""
    same_dims(tensors)
    if dtype is not None or device is not None:
        tensors = [t.to(dtype=dtype or t.dtype, device=device or t.device) for t in tensors]
    if kind == "strided":
        from ._strided import Strided

        return Strided(tensors)
    from ._jagged import pack

    return pack(tensors)


def leaf(kind, tensors, dtype, device, requires_grad):
    """The nested tensor with copies of a list, all in one memory."""
    from ._strided import from_buffer

    if kind == "jagged" or not tensors:
        made = nested(kind, tensors, dtype, device)
        return made.detach().clone().requires_grad_() if requires_grad else made.detach()
    buffer = _C._operator("cat")([t.reshape(-1) for t in same_dims(tensors)]).to(dtype=dtype, device=device)
    return from_buffer(buffer.requires_grad_() if requires_grad else buffer, [tuple(t.shape) for t in tensors])
