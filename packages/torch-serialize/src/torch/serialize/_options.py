"""Settings of the process: how files are mapped, whether checksums are computed, which byte order old files have, what
reading a file may cost."""

from __future__ import annotations

import contextlib
import enum
import mmap
import threading

MAP_SHARED, MAP_PRIVATE = mmap.MAP_SHARED, mmap.MAP_PRIVATE


class LoadEndianness(enum.Enum):
    """The byte order of files that do not tell theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options:
    mmap_flags = MAP_PRIVATE
    compute_crc32 = True
    endianness: LoadEndianness | None = None
    expansion = 4.0


class _ThreadOptions(threading.local):
    skip_data = False


options = _Options()
thread_options = _ThreadOptions()


def get_default_mmap_options() -> int:
    """The flag that ``load(mmap=True)`` maps files with: MAP_PRIVATE (copy on write) unless set otherwise."""
    return options.mmap_flags


class set_default_mmap_options(contextlib.ContextDecorator):
    """Sets how ``load(mmap=True)`` maps files: MAP_PRIVATE keeps writes to itself, MAP_SHARED writes them to the file.

    >>> with set_default_mmap_options(mmap.MAP_SHARED):
    ...     get_default_mmap_options() == mmap.MAP_SHARED
    True
    >>> get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """

    def __init__(self, flags: int):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(f"set_default_mmap_options: expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, got {flags!r}")
        self._before = options.mmap_flags
        options.mmap_flags = flags

    def __enter__(self):
        return self

    def __exit__(self, *error):
        options.mmap_flags = self._before


def get_default_load_expansion() -> float:
    """How many times its own size a file may have `load` copy and unpack: 4 unless set otherwise."""
    return options.expansion


class set_default_load_expansion(contextlib.ContextDecorator):
    """Sets how much `load` copies and unpacks for a file whose maker is not trusted, as a multiple of the file's size.

    Counted are compressed records, arrays and tensors that are not views of the file's storages, names of the tensors in a
    TorchScript file, and elements of containers that are copied, hashed or compared; 64 KiB of each come on top, and a
    file within the file has no limit of its own. All in all a file takes at most 500 bytes of memory for each of its own
    (an empty set of one opcode has 216). A file beyond the limit was probably made to exhaust the reader's memory or time.

    >>> with set_default_load_expansion(100):
    ...     get_default_load_expansion()
    100.0
    >>> get_default_load_expansion()
    4.0
    """

    def __init__(self, times: float):
        if type(times) not in (int, float) or not 1 <= times < 1 << 20:
            raise ValueError(f"set_default_load_expansion: expected a number from 1 to {(1 << 20) - 1}, got {times!r}")
        self._before = options.expansion
        options.expansion = float(times)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        options.expansion = self._before


class skip_data:
    """Context in which `save` leaves room for the bytes of storages and `load` makes storages without filling them.

    The file has its full size and every name and shape; its bytes are zeros until someone writes them, where the
    records lie (`ZipFile.infolist`). Without a checksum they are loaded as they are.

    Args:
        materialize_fake_tensors: accepted for its callers elsewhere; there are no fake tensors here

    >>> import io, numpy
    >>> from torch.serialize import load, save
    >>> out = io.BytesIO()
    >>> with skip_data():
    ...     save(numpy.ones(3), out, arrays="numpy")
    >>> load(out.getvalue(), arrays="numpy")
    array([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        self._before = thread_options.skip_data
        thread_options.skip_data = True
        return self

    def __exit__(self, *error):
        thread_options.skip_data = self._before


def get_crc32_options() -> bool:
    """Whether `save` computes checksums and `load` compares them."""
    return options.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Switches checksums off or on; without them damage to a file goes unseen."""
    options.compute_crc32 = bool(compute_crc32)


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files that do not tell theirs; None: little."""
    return options.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order assumed for files that do not tell theirs."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(f"set_default_load_endianness: expected a LoadEndianness or None, got {endianness!r}")
    options.endianness = endianness
