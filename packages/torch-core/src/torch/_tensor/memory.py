"""Where a tensor's elements lie, and who shares them."""

import itertools
import sys

import torch._C as _C

from .._C import Tensor


class Memory:
    """Methods of Tensor."""

    def _is_view(self):
        """Whether this tensor was made as a view of another, whose memory it shares.

        >>> x = torch.ones(2, 3)
        >>> x[0]._is_view(), x._is_view()
        (True, False)
        """
        return self._base is not None

    def storage(self):
        """The memory of this tensor as elements of its dtype: a TypedStorage.

        >>> list(torch.tensor([[1.0, 2.0], [3.0, 4.0]]).storage())
        [1.0, 2.0, 3.0, 4.0]
        """
        return self.untyped_storage()._typed(self.dtype)

    _typed_storage = storage

    def storage_type(self):
        """The class of this tensor's storage, such as torch.FloatStorage.

        >>> torch.ones(1).storage_type().__name__
        'FloatStorage'
        """
        import torch

        return getattr(torch, self.storage().pickle_storage_type())

    def set_(self, source=None, storage_offset=0, size=None, stride=None):
        """Lets the tensor share the memory of a tensor or storage, with the geometry given; with none it becomes empty.

        >>> x = torch.empty(0)
        >>> x.set_(torch.tensor([1.0, 2.0, 3.0]).untyped_storage(), 1, (2,))
        tensor([2., 3.])
        """
        set_ = _C._operator("set_")
        if source is None:
            return set_(self)
        if isinstance(source, Tensor):
            whole = size is None and storage_offset == 0
        else:
            if not hasattr(source, "_typed") and not hasattr(source, "_tensor"):
                raise TypeError(f"set_: source must be a tensor or a storage, not {type(source).__name__}")
            typed = source if hasattr(source, "dtype") else source._typed(self.dtype)
            source = typed._tensor()
            if source.dtype != self.dtype:
                raise RuntimeError(f"set_: the tensor is of {self.dtype}, the storage of {source.dtype}")
            whole = False
            size = (len(source) - storage_offset,) if size is None else size
        return (
            set_(self, source) if whole else set_(self, source, storage_offset, size, () if stride is None else stride)
        )

    def share_memory_(self):
        """Moves the storage into shared memory, in place; needs torch-multiprocessing.

        >>> torch.ones(2).share_memory_().is_shared()
        True
        """
        from torch.multiprocessing import _share_tensor

        return _share_tensor(self)

    def pin_memory(self, device=None):
        """A copy in memory that stays in place, which CUDA reads without a copy of its own; itself when it is there.

        RuntimeError without a CUDA device, and for what is not a dense tensor of the CPU.

        >>> if torch.cuda.is_available():
        ...     x = torch.ones(2).pin_memory()
        """
        from ..cuda._absent import need_device

        need_device("pin_memory")
        from .._cuda.pinned import pinned

        return pinned(self)

    def is_pinned(self, device=None):
        """Whether the memory is pinned, as ``pin_memory`` makes it.

        >>> torch.ones(2).is_pinned()
        False
        """
        if "torch._cuda" not in sys.modules:
            return False  # nothing was pinned
        from .._cuda.pinned import is_pinned

        return is_pinned(self)

    def record_stream(self, stream):
        """Keep the memory until a stream is done with it; RuntimeError for a device without streams.

        >>> if torch.cuda.is_available():
        ...     torch.ones(2, device="cuda").record_stream(torch.cuda.current_stream())
        """
        if self.device.type in ("cpu", "meta"):
            raise RuntimeError(f"record_stream: the tensor is on {self.device}, which has no streams")
        from .._cuda.streams import record_stream

        record_stream(self, stream)

    def dim_order(self, *, ambiguity_check=False):
        """The dims in the order in which they lie in memory, outermost first.

        With ``ambiguity_check`` a RuntimeError tells where dims of one element or of equal strides leave the order open; a
        list of memory formats settles it where the tensor is contiguous in one of them.

        >>> torch.empty(2, 3, 5, 7).to(memory_format=torch.channels_last).dim_order(ambiguity_check=True)
        (0, 2, 3, 1)
        """
        formats = ambiguity_check if isinstance(ambiguity_check, list) else []
        if type(ambiguity_check) not in (bool, list) or not all(isinstance(f, _C.memory_format) for f in formats):
            raise TypeError(
                f"The ambiguity_check argument must be a bool or a list of memory formats, got {ambiguity_check!r}"
            )
        order = tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))
        strides = self.stride()
        is_open = 1 in self.shape or any(a == b for a, b in itertools.pairwise(strides))
        if ambiguity_check and is_open and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats. "
                f"Its shape is {tuple(self.shape)}, its strides are {strides}"
            )
        return order

    @property
    def __cuda_array_interface__(self):
        """The memory of a CUDA tensor as other libraries read it; no attribute of other tensors."""
        from .._cuda_array import interface

        return interface(self)
