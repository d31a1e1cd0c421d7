"""Objects that have only a ``fileno()``, as files."""

import os

__all__ = ["Descriptor"]


class Descriptor:
    """Reads and writes at the position of a descriptor, which stays its owner's.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = Descriptor(file).write(b"12345")
    ...     _ = Descriptor(file).seek(1)
    ...     Descriptor(file).read(3)
    b'234'
    """

    def __init__(self, owner):
        self._fd = owner.fileno()

    def write(self, data) -> int:
        view = memoryview(data).cast("B")
        total = len(view)
        while len(view):
            view = view[os.write(self._fd, view) :]
        return total

    def read(self, size: int = -1) -> bytes:
        parts = []
        while size:
            part = os.read(self._fd, 1 << 20 if size < 0 else min(size, 1 << 20))
            if not part:
                break
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return b"".join(parts)

    def readinto(self, buffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return os.lseek(self._fd, offset, whence)

    def tell(self) -> int:
        return os.lseek(self._fd, 0, os.SEEK_CUR)

    def flush(self) -> None:
        """There is nothing held back."""
