"""What of torch.UntypedStorage is rare enough to be Python; torch.storage puts it onto the compiled type."""

import mmap
import os

from . import _C
from ._C import UntypedStorage


def bounds(index, size):
    """Where a slice of a storage begins and ends."""
    start, stop, step = index.indices(size)
    if step != 1:
        raise ValueError(f"a slice of a storage has step 1, not {step}")
    return start, max(start, stop)


def elements(storage, dtype):
    """All elements of a storage, as a tensor of a dtype over it."""
    return _C._tensor_over(storage, dtype, 0, (storage.nbytes() // dtype.itemsize,), (1,))


class File(mmap.mmap):
    """A file as memory; ``filename`` when changes reach it."""

    filename = None


class Bytes:
    """Methods that `complete` puts onto the compiled UntypedStorage."""

    def _typed(self, dtype):
        from .storage import TypedStorage

        return TypedStorage(wrap_storage=self, dtype=dtype)

    def _tensor(self):
        return elements(self, _C.uint8)

    def __getitem__(self, index):
        if isinstance(index, slice):
            start, stop = bounds(index, len(self))
            if self.device.type == "cuda":
                return _C._storage_over(self.data_ptr() + start, stop - start, str(self.device), self)
            return _C._storage_from_buffer(memoryview(self)[start:stop], self.is_shared())
        return self._typed(_C.uint8)[index]

    def __setitem__(self, index, value):
        self._typed(_C.uint8)[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        rows = "" if self.device.type == "meta" else "".join(f" {value}\n" for value in self)
        return f"{rows}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def tolist(self):
        """The bytes as integers."""
        return self._tensor().tolist()

    def fill_(self, value):
        """Sets every byte."""
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Copies the bytes of a storage of the same size."""
        source = source.untyped()
        if len(source) != len(self):
            raise RuntimeError(f"copy_: the storages have {len(self)} and {len(source)} bytes")
        self._tensor().copy_(source._tensor())
        return self

    def resize_(self, size):
        """Makes room for that many bytes; those that fit stay. Only growing is there: tensors over the end would be left
        without memory."""
        if size < 0:
            raise RuntimeError(f"resize_: size must not be negative, got {size}")
        if size < len(self):
            raise NotImplementedError(f"resize_: a storage of {len(self)} bytes cannot shrink to {size}; clone a slice")
        self._tensor().resize_(size)
        return self

    def clone(self):
        """A copy."""
        return UntypedStorage(len(self), device=self.device).copy_(self)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        from ._copying import deepcopy_storage

        return deepcopy_storage(self, memo)

    def __reduce_ex__(self, protocol):
        from ._copying import PickledStorage

        return _itself, (PickledStorage(self),)

    def untyped(self):
        """Itself."""
        return self

    def element_size(self):
        """1: a byte."""
        return 1

    def new(self, *args):
        """A new storage of bytes."""
        return UntypedStorage(*args)

    def type(self, dtype=None, non_blocking=False):
        """The name of this storage's class, or a copy converted to a dtype or to the class of that name."""
        if dtype is None:
            return "torch.UntypedStorage"
        return self._typed(_C.uint8).type(dtype)

    def to(self, *, device, non_blocking=False):
        """The storage on a device; itself when it is there."""
        return self._tensor().to(device).untyped_storage()

    def cpu(self):
        """The storage on the CPU; itself when it is there."""
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        """A copy on a CUDA device; needs the distribution torch-core-cuda."""
        return self.to(device="cuda" if device is None else device)

    def get_device(self):
        """Index of the device, -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    def is_pinned(self, device="cuda"):
        """Whether the memory is pinned."""
        return self._tensor().is_pinned()

    def pin_memory(self, device="cuda"):
        """A copy in pinned memory; itself when it is there. RuntimeError without a CUDA device."""
        there = self._tensor().pin_memory().untyped_storage()
        return self if there.data_ptr() == self.data_ptr() else there

    def share_memory_(self):
        """Moves the memory into shared memory, in place; needs torch-multiprocessing."""
        from torch.multiprocessing import _share_storage

        _share_storage(self)
        return self

    def byteswap(self, dtype):
        """Reverses the bytes of each element of a dtype, in place."""
        size = (dtype.itemsize // 2) if dtype.is_complex else dtype.itemsize
        if len(self) % size:
            raise RuntimeError(f"byteswap: {len(self)} bytes are no whole number of elements of {dtype}")
        rows = self._tensor().view(-1, size)
        rows.copy_(rows.flip(1))

    def from_buffer(buffer, byte_order="native", count=-1, offset=0, *, dtype=None):
        """A storage with a copy of a buffer's bytes, ``count`` elements of ``dtype`` from byte ``offset`` on, in the
        machine's byte order."""
        dtype = _C.uint8 if dtype is None else dtype
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"from_buffer: byte_order must be 'native', 'little' or 'big', not {byte_order!r}")
        view = memoryview(buffer).cast("B")
        if not 0 <= offset <= len(view):
            raise ValueError(f"from_buffer: offset {offset} lies outside a buffer of {len(view)} bytes")
        view = view[offset:]
        if count < 0:
            if len(view) % dtype.itemsize:
                raise ValueError(f"from_buffer: {len(view)} bytes are no whole number of elements of {dtype}")
        elif count * dtype.itemsize > len(view):
            raise ValueError(
                f"from_buffer: the buffer has {len(view)} bytes, {count} elements of {dtype} need "
                f"{count * dtype.itemsize}"
            )
        else:
            view = view[: count * dtype.itemsize]
        storage = UntypedStorage(len(view))
        memoryview(storage)[:] = view
        if byte_order == "big" and dtype.itemsize > 1:
            storage.byteswap(dtype)
        return storage

    def _new_shared(size, *, device="cpu"):
        """Uninitialised bytes in shared memory; needs torch-multiprocessing."""
        return UntypedStorage(size, device=device).share_memory_()

    def from_file(filename, shared=False, nbytes=0):
        """The first ``nbytes`` bytes of a file as memory (all of them for 0); with ``shared`` changes reach the file, which is
        made as long as needed."""
        with open(filename, "a+b" if shared else "rb") as file:
            there = os.fstat(file.fileno()).st_size
            nbytes = nbytes or there
            if shared and there < nbytes:
                file.truncate(nbytes)
            elif there < nbytes:
                raise RuntimeError(f"from_file: {os.fspath(filename)!r} has {there} bytes, {nbytes} are asked for")
            if nbytes == 0:
                return UntypedStorage(0)
            memory = File(file.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        memory.filename = os.fspath(filename) if shared else None
        return _C._storage_from_buffer(memory, shared)

    @property
    def filename(self):
        """The file that the memory is, when it is shared with one; or None."""
        return getattr(self._owner, "filename", None)

    @property
    def is_cuda(self):
        """True in the memory of a GPU."""
        return self.device.type == "cuda"

    is_sparse = False


def _itself(storage):
    return storage


def complete():
    """Adds the methods of `Bytes` to the compiled type, in place of those that import this."""
    del UntypedStorage.__getattr__
    for name, value in vars(Bytes).items():
        if name not in ("__module__", "__qualname__", "__dict__", "__weakref__", "__doc__"):
            setattr(
                UntypedStorage,
                name,
                staticmethod(value) if name in ("from_buffer", "from_file", "_new_shared") else value,
            )
