"""Moving a module: dtype, device, shared memory, gradients' state."""

import torch


class Cast:
    """The part of Module that maps a function over its parameters and buffers, in place."""

    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, gradient and buffer by ``fn`` of it; parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            parameter.data = fn(parameter.data)
            if parameter.grad is not None:
                requires_grad = parameter.grad.requires_grad
                parameter.grad = fn(parameter.grad.detach()).requires_grad_(requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
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
            if device is not None:
                options["device"] = device
            if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
                options["dtype"] = dtype
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            return tensor.to(**options) if len(options) > 1 else tensor

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Move to ``device`` without copying: the values are uninitialised afterwards. Returns self."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse)

    def type(self, dst_type):
        """Cast all parameters and buffers, integer ones too. Returns self."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast_floating(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Cast floating point parameters and buffers to float32. Returns self."""
        return self._cast_floating(torch.float32)

    def double(self):
        """Cast floating point parameters and buffers to float64. Returns self."""
        return self._cast_floating(torch.float64)

    def half(self):
        """Cast floating point parameters and buffers to float16. Returns self."""
        return self._cast_floating(torch.float16)

    def bfloat16(self):
        """Cast floating point parameters and buffers to bfloat16. Returns self."""
        return self._cast_floating(torch.bfloat16)

    def cpu(self):
        """Move everything to the CPU. Returns self."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Move everything to a CUDA device (the current one by default). Returns self."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device=None):
        """Move everything to an XPU. Returns self."""
        return self._apply(lambda tensor: tensor.to(_device("xpu", device)))

    def ipu(self, device=None):
        """Move everything to an IPU. Returns self."""
        return self._apply(lambda tensor: tensor.to(_device("ipu", device)))

    def mtia(self, device=None):
        """Move everything to an MTIA device. Returns self."""
        return self._apply(lambda tensor: tensor.to(_device("mtia", device)))

    def share_memory(self):
        """Move all parameters and buffers into memory that other processes can map. Returns self."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def requires_grad_(self, requires_grad=True):
        """Freeze (``False``) or train (``True``) all parameters. Returns self.

        >>> any(p.requires_grad for p in torch.nn.Linear(2, 2).requires_grad_(False).parameters())
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or fill them with zero when ``set_to_none`` is false."""
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


def _parse_to(*args, device=None, dtype=None, tensor=None, non_blocking=False, copy=False, memory_format=None):
    for arg in args:
        if isinstance(arg, torch.Tensor):
            tensor = arg
        elif isinstance(arg, torch.dtype):
            dtype = arg
        elif isinstance(arg, bool):
            non_blocking = arg
        elif arg is not None:
            device = arg
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    return device, dtype, non_blocking, memory_format
