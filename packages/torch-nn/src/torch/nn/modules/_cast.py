"""Moving a module: dtype, device, shared memory, gradients' state."""

from __future__ import annotations

import torch
from torch import _seams

from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self


class Cast:
    """The part of Module that maps a function over its parameters and buffers, in place."""

    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, gradient and buffer by ``fn`` of it.

        Parameters stay the same objects, so that optimizers and other modules that have them go on, unless the data
        comes to have another layout, or comes from the Meta device (``torch.__future__`` has other ways).
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = _converted(parameter, fn, f"{type(self).__name__}.{name}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast in place: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``,
        ``to(memory_format=...)``; only floating point and complex tensors change dtype. Returns self.

        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"Module.to: dtype must be floating point or complex, got {dtype}; "
                "parameters of an integer type cannot be trained, use module.type(dtype) if that is meant"
            )

        def convert(tensor):
            options = {"non_blocking": non_blocking}
            if tensor.is_meta and device is not None and torch.device(device).type != "meta":
                raise NotImplementedError(
                    f"Module.to: the parameters are on the Meta device and have no data to move to {device}; "
                    f"module.to_empty(device={str(device)!r}) makes uninitialised ones there"
                )
            if device is not None:
                options["device"] = device
            if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
                options["dtype"] = dtype
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            return tensor.to(**options) if len(options) > 1 else tensor

        return self._apply(convert)

    def to_empty(self, *, device: torch.device | str | int | None, recurse: bool = True) -> Self:
        """Move to ``device`` without copying: the values are uninitialised afterwards. Returns self."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse)

    def type(self, dst_type: torch.dtype | str) -> Self:
        """Cast all parameters and buffers, integer ones too. Returns self.

        >>> torch.nn.Linear(2, 2).type(torch.float64).weight.dtype
        torch.float64
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast_floating(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        """Cast floating point parameters and buffers to float32. Returns self.

        >>> torch.nn.Linear(2, 2, dtype=torch.float64).float().weight.dtype
        torch.float32
        """
        return self._cast_floating(torch.float32)

    def double(self) -> Self:
        """Cast floating point parameters and buffers to float64. Returns self.

        >>> torch.nn.Linear(2, 2).double().weight.dtype
        torch.float64
        """
        return self._cast_floating(torch.float64)

    def half(self) -> Self:
        """Cast floating point parameters and buffers to float16. Returns self.

        >>> torch.nn.Linear(2, 2).half().weight.dtype
        torch.float16
        """
        return self._cast_floating(torch.float16)

    def bfloat16(self) -> Self:
        """Cast floating point parameters and buffers to bfloat16. Returns self."""
        return self._cast_floating(torch.bfloat16)

    def cpu(self) -> Self:
        """Move everything to the CPU. Returns self.

        >>> torch.nn.Linear(2, 2).cpu().weight.device
        device(type='cpu')
        """
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: torch.device | str | int | None = None) -> Self:
        """Move everything to a CUDA device (the current one by default). Returns self.

        >>> if torch.cuda.is_available():
        ...     net = torch.nn.Linear(2, 2).cuda()
        """
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device: torch.device | str | int | None = None) -> Self:
        """Move everything to an XPU. Returns self."""
        return self._apply(lambda tensor: tensor.to(_device("xpu", device)))

    def ipu(self, device: torch.device | str | int | None = None) -> Self:
        """Move everything to an IPU. Returns self."""
        return self._apply(lambda tensor: tensor.to(_device("ipu", device)))

    def mtia(self, device: torch.device | str | int | None = None) -> Self:
        """Move everything to an MTIA device. Returns self."""
        return self._apply(lambda tensor: tensor.to(_device("mtia", device)))

    def share_memory(self) -> Self:
        """Move all parameters and buffers into memory that other processes can map. Returns self.

        >>> torch.nn.Linear(2, 2).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda tensor: tensor.share_memory_())

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze (``False``) or train (``True``) all parameters. Returns self.

        >>> any(p.requires_grad for p in torch.nn.Linear(2, 2).requires_grad_(False).parameters())
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zero when ``set_to_none`` is false.

        >>> layer = torch.nn.Linear(2, 1)
        >>> layer(torch.ones(2)).backward()
        >>> layer.zero_grad()
        >>> print(layer.bias.grad)
        None
        """
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            elif parameter.grad.requires_grad:  # part of a graph: it must not be changed
                parameter.grad = torch.zeros_like(parameter.grad)
            else:
                parameter.grad.zero_()


def _device(kind, index):
    return f"{kind}:{index}" if isinstance(index, int) else (index or kind)


_FORMS = {
    "tensor": ("tensor", "non_blocking"),
    "dtype": ("dtype", "non_blocking"),
    "device": ("device", "dtype", "non_blocking"),
}
_TYPES = {
    "tensor": (torch.Tensor,),
    "device": (torch.device, str, int, type(None)),
    "dtype": (torch.dtype, type(None)),
    "non_blocking": (bool,),
    "memory_format": (torch.memory_format, type(None)),
}


def _converted(parameter, fn, name):
    """The parameter that stands for ``fn(parameter)``: the same object with other data, where that is possible."""
    with torch.no_grad():
        data = fn(parameter)
    grad = parameter.grad
    new_grad = None if grad is None else fn(grad.detach()).requires_grad_(grad.requires_grad)
    if swaps() or _is_wrapper(data):
        parameter.grad = None  # which refers to it
        try:
            exchange(parameter, data, name)
        except RuntimeError:
            parameter.grad = grad
            raise
    elif _takes(parameter, data):
        parameter.data = data
    else:
        parameter = Parameter(data, parameter.requires_grad)
    if grad is None:
        return parameter
    if _takes(grad, new_grad) and not _is_wrapper(new_grad):
        parameter.grad = None  # of another dtype than the parameter for a moment
        grad.data = new_grad.detach()
        new_grad = grad
    parameter.grad = new_grad
    return parameter


def swaps():
    """Whether parameters change places with what they become."""
    return torch.__future__.get_swap_module_params_on_conversion()


def exchange(parameter, data, name):
    """Make ``data`` the contents of a parameter, whatever its class is."""
    made = Parameter(data, parameter.requires_grad) if not isinstance(data, Parameter) else data
    try:
        _seams.swap(parameter, made.requires_grad_(parameter.requires_grad))
    except RuntimeError as error:
        raise RuntimeError(f"{name}: the parameter cannot change places with what it becomes: {error}") from error


def _takes(tensor, data):
    """Whether a tensor can have the data of another one, and is meant to."""
    same = data.is_meta == tensor.is_meta and data.layout == tensor.layout
    return same and not torch.__future__.get_overwrite_module_params_on_conversion()


def _is_wrapper(tensor):
    """Whether a tensor has no memory of its own, but others that a class of a program's holds."""
    return hasattr(type(tensor), "__tensor_flatten__") and hasattr(type(tensor), "__tensor_unflatten__")


def _parse_to(*args, **kwargs):
    """Device, dtype, whether to go on before the copy is done, and memory format; TypeError for another order."""
    first = args[0] if args else None
    form = "dtype" if isinstance(first, torch.dtype) else "device"
    if isinstance(first, torch.Tensor) or (not args and "tensor" in kwargs):
        form = "tensor"
    names = _FORMS[form]
    if "copy" in kwargs or (len(args) == len(names) + 1 and isinstance(args[-1], bool)):
        raise RuntimeError(
            "Module.to: does not take copy, parameters stay the same objects; copy.deepcopy(module).to(...)"
        )
    given = dict(zip(names, args))
    wrong = len(args) > len(names) or given.keys() & kwargs.keys() or kwargs.keys() - {*names, "memory_format"}
    given.update(kwargs)
    for name, value in given.items():
        wrong = wrong or not isinstance(value, _TYPES[name]) or (name == "device" and isinstance(value, bool))
    if wrong:
        shown = [type(x).__name__ for x in args] + [f"{name}={type(x).__name__}" for name, x in kwargs.items()]
        raise TypeError(
            f"Module.to: got ({', '.join(shown)}), expected (device, dtype, non_blocking), (dtype, non_blocking) or "
            "(tensor, non_blocking), and memory_format"
        )
    device, dtype = given.get("device"), given.get("dtype")
    if form == "tensor":
        device, dtype = given["tensor"].device, given["tensor"].dtype
    return device, dtype, given.get("non_blocking", False), given.get("memory_format")
