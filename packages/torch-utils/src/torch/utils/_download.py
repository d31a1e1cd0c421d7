"""Files from the network: with resume, progress and checksum, whole or not at all.

What has come so far is kept in ``NAME.partial`` beside the file; it gets its name when it is complete and its checksum
is right. A second process that fetches the same file waits for the first.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import http.client
import os
import shutil
import socket
import stat
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BLOCK = 1 << 18
ATTEMPTS = 4
TIMEOUT = 30.0  # seconds without a byte


class DownloadError(OSError, RuntimeError):
    """A file that could not be fetched, or is not the one that was expected."""


def fetch(
    url: str,
    path: str | os.PathLike,
    *,
    digest: str | None = None,
    size: int | None = None,
    progress: bool = True,
    attempts: int = ATTEMPTS,
    timeout: float = TIMEOUT,
) -> Path:
    """Copies ``url`` to ``path``; a connection that breaks is taken up where it broke.

    Args:
        digest: ``"md5:..."`` or ``"sha256:..."``, as many hexadecimal digits as are known; a file that is there
            already and matches is not fetched again, and a partial one of an earlier process is continued
        size: in bytes, if it is known
        attempts: in a row that bring nothing before it gives up

    Raises:
        DownloadError: names the address, what happened, and the place where a file fetched by hand is looked for
    """
    path = Path(path)
    if digest is not None and path.exists() and has_digest(path, digest):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with _alone(partial) as file:
        if digest is not None and path.exists() and has_digest(path, digest):
            partial.unlink()  # another process was faster
            return path
        # Without a checksum nothing tells whether these bytes are the beginning of what the address holds today.
        continued = digest is not None and file.seek(0, os.SEEK_END) > 0
        if not continued:
            file.truncate(0)
        _transfer(url, file, path, size, progress, attempts, timeout)
        if digest is not None and not has_digest(partial, digest) and continued:
            file.truncate(0)  # the beginning was of another file
            _transfer(url, file, path, size, progress, attempts, timeout)
        if digest is not None and not has_digest(partial, digest):
            partial.unlink()
            kind, expected = _split(digest)
            found = _digest(file, kind)[: len(expected)]
            raise DownloadError(f'{url}: invalid hash value: {kind} "{expected}" was expected, got "{found}"')
        os.fsync(file.fileno())
        os.replace(partial, path)
    return path


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copies ``url`` to the file ``dst``, whole or not at all.

    Args:
        hash_prefix: the first hexadecimal digits of the SHA256 of the file
        progress: shows how much has come

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a").write_text("weights")
        >>> download_url_to_file((folder / "a").as_uri(), str(folder / "b"), hash_prefix="9a12", progress=False)
        >>> (folder / "b").read_text()
        'weights'
    """
    fetch(url, dst, digest=f"sha256:{hash_prefix}" if hash_prefix else None, progress=progress)


def has_digest(path: str | os.PathLike, digest: str) -> bool:
    """Whether the checksum of a file begins with these digits (``"md5:..."``, ``"sha256:..."``)."""
    kind, expected = _split(digest)
    with open(path, "rb") as file:
        return _digest(file, kind).startswith(expected)


def _split(digest: str) -> tuple[str, str]:
    kind, colon, digits = digest.partition(":")
    if not colon or kind not in ("md5", "sha256") or not digits or digits.strip("0123456789abcdefABCDEF"):
        raise ValueError(f"digest must be 'md5:' or 'sha256:' and hexadecimal digits, got {digest!r}")
    return kind, digits.lower()


def _digest(file, kind: str) -> str:
    state = hashlib.new(kind, usedforsecurity=False)
    file.seek(0)
    while block := file.read(BLOCK):
        state.update(block)
    return state.hexdigest()


def _own(path: str, flags: int) -> int:
    """Opens a file that goes by this name only: what is written must not end up in another one, or in a device."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise DownloadError(f"{path} is a link or a pipe, not a file that can be written to: remove it") from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise DownloadError(f"{path} is a device, or has another name too (a hard link): remove it")
    return descriptor


@contextmanager
def _alone(partial: Path):
    """The partial file, open, while no other process has it."""
    while True:
        with open(partial, "a+b", opener=_own) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                mine = os.path.samestat(os.fstat(file.fileno()), os.stat(partial))
            except FileNotFoundError:
                mine = False
            if mine:  # else the one before us has given it its name
                try:
                    yield file
                except BaseException:
                    if not file.closed and file.seek(0, os.SEEK_END) == 0:
                        partial.unlink(missing_ok=True)
                    raise
                return


def _transfer(url: str, file, path: Path, size: int | None, progress: bool, attempts: int, timeout: float) -> None:
    """Fills the file from where it ends; begins anew where the server cannot continue."""
    failures, most, tag = 0, 0, None
    bar = None
    try:
        while True:
            begin = file.seek(0, os.SEEK_END)
            try:
                with _open(url, begin, tag, timeout) as answer:
                    if begin and getattr(answer, "status", 200) != 206:
                        file.truncate(0)
                        begin = file.seek(0)
                    elif begin and not _continues(answer, begin):
                        file.truncate(0)
                        raise http.client.HTTPException(f"the server continued elsewhere than at byte {begin}")
                    tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or tag
                    total = _total(answer, begin)
                    _check_size(url, total, size)
                    _check_space(path, total, begin)
                    if bar is None:
                        bar = _Progress(path.name, total, progress)
                    bar.at(begin)
                    while block := answer.read(BLOCK):
                        file.write(block)
                        bar.at(begin := begin + len(block))
                        if begin > most:  # a server that always breaks at the same place is given up
                            failures, most = 0, begin
                        if size is not None and begin > size:
                            raise DownloadError(f"{url}: more than the {size} bytes that were expected")
                file.flush()
                if total is None or begin >= total:
                    _check_size(url, begin, size)
                    return
                raise http.client.IncompleteRead(b"", total - begin)
            except urllib.error.HTTPError as error:
                if error.code == 416 and begin:  # there is nothing after what we have: begin anew, or it was all
                    file.truncate(0)
                    if failures:
                        raise DownloadError(_no_way(url, path, error)) from None
                elif error.code < 500 and error.code not in (408, 429):
                    raise DownloadError(_no_way(url, path, error)) from None
                reason: Exception = error
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, DownloadError):
                    raise
                reason = error
            file.flush()
            failures += 1
            if failures >= attempts or not _may_pass(reason):
                raise DownloadError(_no_way(url, path, reason)) from reason
            time.sleep(min(0.2 * 2**failures, 5.0))
    finally:
        if bar is not None:
            bar.close()


def _open(url: str, begin: int, tag: str | None, timeout: float):
    headers = {"User-Agent": "torch-utils", "Accept-Encoding": "identity"}
    if begin:
        headers["Range"] = f"bytes={begin}-"
        if tag is not None and not tag.startswith("W/"):
            headers["If-Range"] = tag
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout)


def _continues(answer: Any, begin: int) -> bool:
    given = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0].strip()
    return not given or given == str(begin)


def _total(answer: Any, begin: int) -> int | None:
    length = answer.headers.get("Content-Length")
    return begin + int(length) if length is not None and length.isdigit() else None


def _check_size(url: str, found: int | None, expected: int | None) -> None:
    if expected is not None and found is not None and found != expected:
        raise DownloadError(f"{url}: {found} bytes, {expected} were expected")


def _check_space(path: Path, total: int | None, begin: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if total is not None and total - begin > free:
        raise DownloadError(
            f"{path.parent} has {free} bytes free, and {total - begin} of {path.name} are still to come"
        )


def _may_pass(reason: Exception) -> bool:
    """Whether trying again may help: no file and no such host do not come by waiting."""
    cause = getattr(reason, "reason", reason)
    return not isinstance(cause, (FileNotFoundError, PermissionError, IsADirectoryError, socket.gaierror))


def _no_way(url: str, path: Path, reason: Exception) -> str:
    cause = getattr(reason, "reason", None) or reason
    code = f"{reason.code} " if isinstance(reason, urllib.error.HTTPError) else ""
    return f"{url} could not be fetched ({code}{cause}). Without a network, put the file at {path}"


class _Progress:
    """A tqdm bar where tqdm is installed, a line on standard error otherwise."""

    def __init__(self, name: str, total: int | None, shown: bool):
        self._done, self._total, self._name = 0, total, name
        self._bar: Any = None
        self._line = False
        if shown:
            try:
                from tqdm.auto import tqdm

                self._bar = tqdm(desc=name, total=total, unit="B", unit_scale=True, unit_divisor=1024)
            except ImportError:
                self._line = sys.stderr.isatty()

    def at(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(done - self._done)
        elif self._line and done >> 20 != self._done >> 20:
            of = f" of {self._total >> 20}" if self._total else ""
            print(f"\r{self._name}: {done >> 20}{of} MB", end="", file=sys.stderr, flush=True)
        self._done = done

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._line:
            print(file=sys.stderr)
