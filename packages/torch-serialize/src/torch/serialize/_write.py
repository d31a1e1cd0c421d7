"""Where `save` writes: a file that is replaced all at once, or any object with ``write``."""

from __future__ import annotations

import os

from ._atomic import replacing


def write_to(f, default_name: str, produce) -> None:
    """Runs `produce(write, name)` over a path or a file object."""
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fsdecode(os.fspath(f))))[0] or default_name
        with replacing(f) as fd:

            def write(data):
                data = memoryview(data)
                while len(data):
                    data = data[os.write(fd, data) :]

            produce(write, name)
        return

    def write(data):
        count = f.write(data)
        if count is not None and count != len(data):  # a raw file may take a part
            data = memoryview(data)
            while count < len(data):
                count += f.write(data[count:])

    produce(write, default_name)
    if hasattr(f, "flush"):
        f.flush()
