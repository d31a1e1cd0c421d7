"""Calls everything that torch offers with the arguments of hostile.py, and watches for what must not happen: a crash, a
hang, SystemError, a tensor that reaches beyond its storage.

    python fuzz.py --calls 200000 --seed 7          # a long run; `--only REGEX` for some targets
    python fuzz.py --replay 7:1234                  # one call again, in this process

A call is a function only of (seed, number). The calls run in a child process; when it dies the parent says which call
it was, and a new child goes on after it.
"""

import argparse
import contextlib
import io
import mmap
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from hostile import Hostile, Maker
from targets import EXPECTED, targets

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
SECONDS = 20  # of the processor: a call that takes more hangs
PATIENCE = 200  # seconds by the clock: one that waits for something hangs too, however busy the machine is
MEMORY = 6 << 30  # address space of a child

ASSERTED = re.compile(r"[\w.]+: ")  # what PyTorch asserts of arguments names the function, as other errors do


def within_bounds(t):
    """Raises AssertionError for a tensor that reaches beyond its storage."""
    if t.device.type != "cpu" or t.numel() == 0 or t.layout != torch.strided:
        return
    low = high = t.storage_offset()
    for size, stride in zip(t.shape, t.stride()):
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    held = t.untyped_storage().nbytes()
    if low < 0 or (high + 1) * t.itemsize > held:
        raise AssertionError(
            f"shape {tuple(t.shape)} strides {t.stride()} offset {t.storage_offset()} over {held} bytes"
        )
    if t.numel() < 4096:
        t.tolist()


def look_at(value, depth=0):
    if isinstance(value, torch.Tensor):
        within_bounds(value)
        if depth == 0:
            repr(value)
    elif isinstance(value, (tuple, list)) and depth < 3:
        for v in value[:100]:
            look_at(v, depth + 1)


def text_of(value, depth=0):
    if isinstance(value, torch.Tensor):
        grad = ", grad" if value.requires_grad else ""
        return f"<{str(value.dtype)[6:]} {tuple(value.shape)} strides {value.stride()} offset {value.storage_offset()} {value.device}{grad} at {value.untyped_storage().data_ptr():x}>"
    if isinstance(value, (list, tuple)) and depth < 3:
        inner = ", ".join(text_of(v, depth + 1) for v in value[:8])
        return f"{type(value).__name__}({inner}{', ...' if len(value) > 8 else ''})"
    if isinstance(value, dict):
        return ", ".join(f"{k!a}={text_of(v, depth + 1)}" for k, v in value.items())
    with contextlib.suppress(Exception):
        return ascii(value)[:100]
    return object.__repr__(value)


def processor_seconds(pid):
    """What a process has computed for, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Runner:
    def __init__(self, seed, only=None, grad=False):
        self.seed, self.grad = seed, grad
        self.targets = {n: t for n, t in targets().items() if not only or re.search(only, n)}
        self.names = list(self.targets)
        if grad:
            pass

    def prepare(self, number):
        r = random.Random(f"{self.seed}:{number}")
        name = self.names[number % len(self.names)]
        return name, self.targets[name](Maker(r, self.grad))

    def run(self, number, tell=False):
        """The text of a failure, or None."""
        torch.set_default_dtype(torch.float32)
        torch.manual_seed(0)
        try:
            name, (function, args, kwargs) = self.prepare(number)
        except (Hostile, *EXPECTED) as error:
            if tell:
                raise
            return f"preparation: {type(error).__name__}: {ascii(str(error))[:300]}"
        if tell:
            print(f"{name}: {text_of(args)} {text_of(kwargs)}", flush=True)
        try:
            with contextlib.redirect_stdout(io.StringIO()) if not tell else contextlib.nullcontext():
                result = function(*args, **kwargs)
                look_at(result)
                if self.grad:
                    self.differentiate(result)
            for value in (*args, *kwargs.values()):
                look_at(value, 1)
        except Hostile:
            pass
        except EXPECTED as error:
            if tell:
                print(type(error).__name__, ascii(str(error))[:2000])
        except BaseException as error:
            if type(error) is AssertionError and ASSERTED.match(str(error)):
                return None
            return f"{name}: {type(error).__name__}: {ascii(str(error))[:300]}\n    {text_of(args)} {text_of(kwargs)}"
        return None

    def differentiate(self, result):
        results = result if isinstance(result, (tuple, list)) else [result]
        for t in results:
            if isinstance(t, torch.Tensor) and t.requires_grad and t.numel() < 10000:
                t.sum().abs().backward() if t.is_complex() else t.sum().backward()


def child(options):
    """Runs calls from the number in the shared page on, writing each number before its call."""
    page = mmap.mmap(os.open(options.page, os.O_RDWR), 16)
    warnings.simplefilter("ignore")
    if options.memory:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    runner = Runner(options.seed, options.only, options.grad)
    start = struct.unpack("q", page[:8])[0]
    sys.setrecursionlimit(1000)
    for number in range(start, options.calls):
        page[:8] = struct.pack("q", number)
        if failure := runner.run(number):
            print(f"FAILED {options.seed}:{number} {failure}", flush=True)
    page[8:] = struct.pack("q", 1)


def describe(options, number):
    command = [sys.executable, __file__, "--seed", str(options.seed), "--describe", str(number)]
    command += ["--only", options.only] if options.only else []
    command += ["--grad"] if options.grad else []
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout or done.stderr[-500:]).strip()


def hunt(options):
    """Runs all calls, in as many children as it takes; the number of failures."""
    failures = 0
    page_path = Path(options.page or f"/tmp/torch-fuzz-{os.getpid()}")
    page_path.write_bytes(bytes(16))
    page = mmap.mmap(os.open(page_path, os.O_RDWR), 16)
    start = options.start
    try:
        while start < options.calls:
            page[:] = struct.pack("qq", start, 0)
            command = [
                sys.executable,
                "-X",
                "faulthandler",
                __file__,
                "--child",
                "--page",
                str(page_path),
                "--seed",
                str(options.seed),
                "--calls",
                str(options.calls),
            ]
            command += ["--only", options.only] if options.only else []
            command += ["--grad"] if options.grad else []
            command += ["--no-memory"] if not options.memory else []
            with open(f"{page_path}.err", "w+") as err:
                process = subprocess.Popen(command, stderr=err)
                last, since, computed, hung, slow = -1, 0.0, 0.0, False, 4 if SANITIZED else 1
                while process.poll() is None:
                    time.sleep(0.05)
                    at = struct.unpack("q", page[:8])[0]
                    now, spent = time.monotonic(), processor_seconds(process.pid)
                    if at != last:
                        last, since, computed = at, now, spent
                    elif spent - computed > SECONDS * slow or now - since > PATIENCE * slow:
                        hung = True
                        process.send_signal(signal.SIGABRT)
                        process.wait()
                number, done = struct.unpack("qq", page[:])
                if done:
                    break
                err.seek(0)
                if process.returncode > 0 and not SANITIZED:  # a sanitizer ends its process like this
                    sys.exit(err.read())  # no crash: a mistake of this file
                why = "hangs" if hung else f"dies (status {process.returncode})"
                failures += 1
                print(
                    f"CRASHED {options.seed}:{number} {why}: {describe(options, number)}\n{err.read()[-options.tail :]}",
                    flush=True,
                )
                start = number + 1
    finally:
        page_path.unlink()
        Path(f"{page_path}.err").unlink(missing_ok=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=100000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", help="targets that match this regular expression")
    parser.add_argument(
        "--grad", action="store_true", help="some tensors need gradients, and results are differentiated"
    )
    parser.add_argument(
        "--no-memory", dest="memory", action="store_false", help="no limit of the address space (for ASan)"
    )
    parser.add_argument("--tail", type=int, default=1500, help="characters of a dead child's stderr to show")
    parser.add_argument("--replay", metavar="SEED:NUMBER")
    parser.add_argument("--describe", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--page", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
    elif options.describe is not None:
        name, (function, args, kwargs) = Runner(options.seed, options.only, options.grad).prepare(options.describe)
        print(f"{name}: {text_of(args)} {text_of(kwargs)}")
    elif options.replay:
        seed, number = map(int, options.replay.split(":"))
        print(Runner(seed, options.only, options.grad).run(number, tell=True) or "fine")
    else:
        sys.exit(1 if hunt(options) else 0)


if __name__ == "__main__":
    main()
