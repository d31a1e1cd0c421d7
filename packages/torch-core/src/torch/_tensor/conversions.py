"""Tensors of other dtypes, devices and layouts, and tensors made after one."""

import torch._C as _C

CONVERSIONS = {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32, "long": _C.int64,
    "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool, "chalf": _C.complex32, "cfloat": _C.complex64, "cdouble": _C.complex128,
}  # fmt: skip


class Conversions:
    """Methods of Tensor."""

    def type(self, dtype=None, non_blocking=False, **kwargs):
        """The name of the tensor's legacy class, or the tensor converted to a dtype or legacy class.

        >>> torch.ones(1).type(), torch.ones(1).type(torch.int64)
        ('torch.FloatTensor', tensor([1]))
        """
        from .._compat.classes import class_name, target

        if dtype is None:
            return class_name(self)
        *place, dtype = target(dtype)
        if place == [self.device.type]:  # whichever of several devices it is on
            place = []
        return self.to(*place, dtype, non_blocking=non_blocking)

    def type_as(self, other):
        """The tensor with the dtype and on the device of another.

        >>> torch.ones(1).type_as(torch.zeros(1, dtype=torch.int64))
        tensor([1])
        """
        return self.to(other)

    def cpu(self, *, memory_format=None):
        """The tensor on the CPU; itself when it is there already.

        >>> torch.ones(2).cpu().device
        device(type='cpu')
        """
        return self.to("cpu") if memory_format is None else self.to("cpu", memory_format=memory_format)

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """A copy of the tensor on a CUDA device; needs the distribution torch-core-cuda.

        >>> if torch.cuda.is_available():
        ...     x = torch.ones(2).cuda()
        """
        if device is not None and not isinstance(device, int) and _C.device(device).type != "cuda":
            raise RuntimeError(f"cuda: Invalid device, must be cuda device, got {device}; to() moves a tensor anywhere")
        try:
            return self.to("cuda" if device is None else device, non_blocking=non_blocking)
        except NotImplementedError as error:
            raise type(error)(str(error).replace("to:", "cuda:", 1)) from None

    def to_sparse_coo(self):
        """The elements that are not zero as a sparse tensor; ``self.to_sparse()``."""
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim=None):
        """The elements that are not zero, or those of a sparse tensor, in layout torch.sparse_csr."""
        return _C._operator("_to_sparse_compressed")(self, layout=_C.sparse_csr, dense_dim=dense_dim)

    def to_sparse_csc(self, dense_dim=None):
        """The elements that are not zero, or those of a sparse tensor, in layout torch.sparse_csc."""
        return _C._operator("_to_sparse_compressed")(self, layout=_C.sparse_csc, dense_dim=dense_dim)

    def to_sparse_bsr(self, blocksize, dense_dim=None):
        """The blocks that are not zero, or those of a sparse tensor, in layout torch.sparse_bsr."""
        return _to_blocks(self, _C.sparse_bsr, blocksize, dense_dim)

    def to_sparse_bsc(self, blocksize, dense_dim=None):
        """The blocks that are not zero, or those of a sparse tensor, in layout torch.sparse_bsc."""
        return _to_blocks(self, _C.sparse_bsc, blocksize, dense_dim)

    def new(self, *args, **kwargs):
        """A new tensor of this one's dtype, made as the legacy constructor makes it.

        >>> torch.ones(1, dtype=torch.float64).new([1, 2])
        tensor([1., 2.], dtype=torch.float64)
        """
        if self.is_sparse:
            from .._compat.classes import sparse_tensor

            return sparse_tensor(self.dtype, args, self.is_cuda)
        sizes = args[0] if len(args) == 1 and type(args[0]) is _C.Size else args
        if sizes and not kwargs and all(isinstance(n, int) and n is not True and n is not False for n in sizes):
            return _C._operator("new_empty")(self, sizes)
        return _C._legacy_new(self.dtype, self.device, args, kwargs)

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        """A new tensor with a copy of the data; dtype and device are this tensor's where not given.

        >>> torch.ones(1, dtype=torch.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=torch.float64)
        """
        return _C.tensor(
            data,
            dtype=dtype or self.dtype,
            device=device or self.device,
            requires_grad=requires_grad,
            pin_memory=pin_memory,
        )

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """What a function of NumPy gives for a tensor: a tensor.

        >>> import numpy
        >>> numpy.exp(torch.zeros(2))
        tensor([1., 1.])
        """
        from .._C import from_numpy, tensor

        return from_numpy(array) if getattr(array, "ndim", 0) else tensor(array)


def _to_blocks(self, layout, blocksize, dense_dim):
    size = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    return _C._operator("_to_sparse_compressed")(self, layout=layout, blocksize=size, dense_dim=dense_dim)


def conversion(name, dtype):
    def convert(self, *, memory_format=None):
        return self.to(dtype) if memory_format is None else self.to(dtype, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = (
        f"The tensor as {dtype}; itself when it is one already.\n\n>>> torch.tensor([True]).{name}().dtype\n{dtype}\n"
    )
    return convert
