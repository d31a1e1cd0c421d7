"""What all data sets of files share: where files are looked for, and the words for one that is wrong."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..._download import DownloadError, fetch, has_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self


class BrokenFile(ValueError):
    """A file of a data set that is not what it should be; the message begins with its path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = Path(path)
        self.reason = reason

    def __reduce__(self) -> Any:
        return type(self), (self.path, self.reason)


@dataclass
class Check:
    """What a check of a data set's files found: true when all of them are right; printed, a line for each.

    Example:
        >>> found = Check()
        >>> found.note("digits.gz", "29515 bytes, 28881 expected")
        >>> bool(found), found.problems
        (False, {PosixPath('digits.gz'): '29515 bytes, 28881 expected'})
        >>> print(found)
        wrong  digits.gz: 29515 bytes, 28881 expected
    """

    findings: dict[Path, str | None] = field(default_factory=dict)

    def note(self, path: str, problem: str | None) -> None:
        self.findings[Path(path)] = problem

    def run(self, path: str, test: Callable[[], None]) -> None:
        """Notes what `test` raises about the file, or that it is right."""
        try:
            test()
        except BrokenFile as error:
            self.note(path, error.reason)
        except OSError as error:
            self.note(path, "not there" if isinstance(error, FileNotFoundError) else str(error))
        else:
            self.note(path, None)

    @property
    def problems(self) -> dict[Path, str]:
        return {path: problem for path, problem in self.findings.items() if problem is not None}

    def __bool__(self) -> bool:
        return bool(self.findings) and not self.problems

    def __str__(self) -> str:
        return "\n".join(f"ok     {p}" if why is None else f"wrong  {p}: {why}" for p, why in self.findings.items())


def find(folders: Iterable[Path], names: Iterable[str]) -> Path | None:
    """The first file of one of these names, in the first folder that has one."""
    names = list(names)
    return next((folder / name for folder in folders for name in names if (folder / name).is_file()), None)


def missing(what: str, folder: Any, names: Iterable[str], remedy: str) -> FileNotFoundError:
    return FileNotFoundError(f"{what}: {folder} has no {' and no '.join(names)}; {remedy}")


def plain_file(path: str, flags: int) -> int:
    """An opener for `open` that refuses pipes and devices, which never end or never begin."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BrokenFile(path, "a pipe, a device or a folder, not a file")
    return descriptor


def test_digest(path: str, digest: str | None) -> None:
    if digest is not None and not has_digest(path, digest):
        kind, _, expected = digest.partition(":")
        raise BrokenFile(path, f"its {kind} is not {expected}, that of the published file")


def fetch_any(urls: Iterable[str], path: Path, digest: str | None, progress: bool) -> None:
    """Fetches a file from the first mirror that gives it."""
    errors = []
    for url in urls:
        try:
            fetch(url, path, digest=digest, progress=progress)
            return
        except DownloadError as error:
            errors.append(error)
    raise errors[0] if len(errors) == 1 else DownloadError("\n".join(map(str, errors)))


class Unpacked:
    """The bytes of a file, gzipped or not, read piece by piece; what gzip says against it is a `BrokenFile`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._packed = path.name.endswith(".gz")
        self._file = gzip.open(path) if self._packed else open(path, "rb")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def read(self, count: int) -> bytes:
        """Up to so many bytes; memory is taken as they come, whatever number was asked for."""
        pieces: list[bytes] = []
        try:
            while count > 0 and (piece := self._file.read(min(count, 1 << 20))):
                pieces.append(piece)
                count -= len(piece)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise BrokenFile(self.path, f"damaged gzip data ({error})") from None
        return b"".join(pieces)
