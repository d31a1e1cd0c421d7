"""Compiling and linking, remembered by content: what was compiled once from the same text is never compiled again.

A folder holds ``objects/`` and the finished libraries. The name of an object begins with the hash of its command and its
source; a note beside it lists the headers that it was compiled from, torch's among them, with their hashes. A library is
named by the hash of its link command and objects. Files appear by rename, so a build that is killed leaves nothing half made; and one process
at a time builds in a folder, held by a lock that the kernel drops with its holder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: where headers lie that come with the compiler, whose version stands for them
OF_COMPILER = ("/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm-")
KEPT = 24  # libraries, and objects, that stay in a folder: the latest


class BuildError(RuntimeError):
    """The compiler or the linker refused; `command` and `output` hold the whole story."""

    def __init__(self, message: str, command: list[str], output: str):
        super().__init__(message)
        self.command = command
        self.output = output


def digest(*pieces: str | bytes) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        piece = piece.encode() if isinstance(piece, str) else piece
        total.update(len(piece).to_bytes(8, "little") + piece)
    return total.hexdigest()[:24]


@contextlib.contextmanager
def locked(folder: Path, verbose: bool = False):
    """Hold a folder's lock. It belongs to the open file, so it ends with this process however that ends.

    The file stays, and is not called `lock`: PyTorch, given the same folder, would wait for that one to vanish.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / "locked", "a")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise type(error)(
            error.errno,
            f"cannot keep what is compiled here ({error.strerror}); give build_directory, or set TORCH_EXTENSIONS_DIR to a "
            "folder that can be written to",
            str(folder),
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if verbose:
                print(f"waiting for another process that builds in {folder}", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Folder:
    """Where one extension is built; use it while its lock is held."""

    def __init__(self, path: Path, name: str, verbose: bool = False):
        self.path = path
        self.name = name
        self.verbose = verbose
        self.objects = path / "objects"
        self.objects.mkdir(exist_ok=True)
        for left in path.glob("build-*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)

    def build(
        self, compile_commands: list[tuple[list[str], Path]], link: list[str], suffix: str, identity: str
    ) -> Path:
        """The library, or program, linked from objects that each command makes of its source."""
        with tempfile.TemporaryDirectory(dir=self.path, prefix="build-") as scratch:
            objects = self._compile(compile_commands, Path(scratch), identity)
            # The object's name is the hash of all that went into it.
            key = digest(identity, shlex.join(link), *(o.name for o in objects))
            finished = self.path / f"{self.name}-{key}{suffix}"
            if not finished.exists():
                made = Path(scratch, "out")
                self.run([link[0], *map(str, objects), *link[1:], "-o", str(made)])
                os.replace(made, finished)
            os.utime(finished)
        self._forget(self.path.glob(f"{self.name}-*{suffix}"))
        self._forget(self.objects.glob("*.o"))
        return finished

    def _compile(self, commands, scratch: Path, identity: str) -> list[Path]:
        found = [self._find(command, source, identity) for command, source in commands]
        missing = [i for i, (_, made) in enumerate(found) if made is None]

        def compile_one(i: int) -> None:
            command, source = commands[i]
            key = found[i][0]
            out, depends = scratch / f"{i}.o", scratch / f"{i}.d"
            self.run([*command, "-MD", "-MF", str(depends), "-c", str(source), "-o", str(out)])
            headers = {str(p): digest(p.read_bytes()) for p in _depends(depends) if p != source and p.exists()}
            made = self.objects / f"{key}-{digest(json.dumps(headers, sort_keys=True))}.o"
            os.replace(out, made)
            note = scratch / f"{i}.json"
            note.write_text(json.dumps(headers))
            os.replace(note, made.with_suffix(".json"))
            found[i] = key, made

        if len(missing) == 1:
            compile_one(missing[0])
        elif missing:
            with ThreadPoolExecutor(jobs()) as pool:
                list(pool.map(compile_one, missing))
        return [made for _, made in found]

    def _find(self, command: list[str], source: Path, identity: str) -> tuple[str, Path | None]:
        key = digest(identity, shlex.join(command), str(source), source.read_bytes())
        for note in self.objects.glob(f"{key}-*.json"):
            made = note.with_suffix(".o")
            try:
                headers = dict(json.loads(note.read_text()))
            except (ValueError, TypeError):  # spoiled: compile again
                continue
            if made.exists() and all(
                os.path.exists(p) and digest(Path(p).read_bytes()) == h for p, h in headers.items()
            ):
                os.utime(made)
                return key, made
        return key, None

    def run(self, command: list[str]) -> None:
        if self.verbose:
            print(shlex.join(command), file=sys.stderr, flush=True)
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=os.environ | {"LC_ALL": "C"},
        )
        if self.verbose and done.stdout:
            print(done.stdout, file=sys.stderr, end="")
        if done.returncode:
            log = self.path / "failed.log"
            log.write_text(f"{shlex.join(command)}\n{done.stdout}")
            raise BuildError(explain(self.name, command, done.returncode, done.stdout, log), command, done.stdout)

    def _forget(self, files) -> None:
        for old in sorted(files, key=os.path.getmtime)[:-KEPT]:
            old.unlink()
            old.with_suffix(".json").unlink(missing_ok=True)


def jobs() -> int:
    """Compilers that run side by side: ``$MAX_JOBS``, or the processors of this process."""
    return max(int(os.environ.get("MAX_JOBS") or len(os.sched_getaffinity(0))), 1)


def explain(name: str, command: list[str], status: int, output: str, log: Path) -> str:
    """The first error with the lines that show it, how many there are, and the command.

    >>> print(explain("f", ["g++", "f.cpp"], 1, "f.cpp:1:9: error: 'y' was not declared", "log"))
    building the extension 'f' failed:
      f.cpp:1:9: error: 'y' was not declared
    command: g++ f.cpp
    all of the output: log
    """
    lines = output.splitlines()
    fault = re.compile(
        r"(\S.*:\d+(:\d+)?: (fatal )?error: )|(undefined reference to)|(multiple definition of)|(: error: )|(cannot find )"
    )
    errors = [i for i, line in enumerate(lines) if fault.search(line)]
    if errors:
        shown = lines[errors[0] : errors[0] + 1]
        for line in lines[errors[0] + 1 : errors[0] + 4]:
            if not re.match(r"\s+(\d+ )?\|", line):
                break
            shown.append(line)
    else:
        shown = lines[-5:] or [f"exit status {status} and no word"]
    more = f"\n  and {len(errors) - 1} more" if len(errors) > 1 else ""
    first = "\n  ".join(shown)
    return f"building the extension {name!r} failed:\n  {first}{more}\ncommand: {shlex.join(command)}\nall of the output: {log}"


def _depends(file: Path) -> list[Path]:
    """The files in a rule that the compiler wrote, ``x.o: x.cpp a\\ b.h``, but for the compiler's own."""
    _, _, files = file.read_text().replace("\\\n", " ").partition(":")
    found = (re.sub(r"\\(.)", r"\1", f) for f in re.findall(r"(?:\\.|\S)+", files))
    return [Path(f) for f in found if not os.path.normpath(f).startswith(OF_COMPILER)]
