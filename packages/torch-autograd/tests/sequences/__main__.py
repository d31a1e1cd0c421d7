"""The command: see the package's docstring."""

import argparse
import ctypes
import faulthandler
import gc
import mmap
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SAMPLES = next(p / "core" / "samples" for p in TESTS.parents if (p / "core" / "samples").is_dir())
sys.path[:0] = [str(TESTS), str(SAMPLES)]

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
SECONDS = 20 * (4 if SANITIZED else 1)  # of the processor: a program that takes more hangs
PATIENCE = 10 * SECONDS  # by the clock: one that waits for something hangs too, however busy the machine is
MEMORY = 6 << 30  # address space of a child
GROWTH = 32 << 20  # bytes that a child may hold more than after its first programs
PAGE = struct.Struct("6q")  # number, calls, refused, programs, done, broken


def child(options):
    """Runs programs from the number in the shared page on, writing each number before it starts."""
    from sequences.machine import Broken
    from sequences.program import Program

    warnings.simplefilter("ignore")
    page = mmap.mmap(os.open(options.page, os.O_RDWR), PAGE.size)
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    number, calls, refused, programs, _, _ = PAGE.unpack(page[:])
    gc.collect()
    gc.freeze()  # what is there already is not looked at again and again
    held, own = None, 0
    while calls < options.calls and time.time() < options.until:
        page[:] = PAGE.pack(number, calls, refused, programs, 0, 0)
        program = Program(options.seed, number)
        try:
            program.run()
            own += 1
            if own % 2000 == 0 and not SANITIZED:
                held = held or in_use()
                if in_use() > held + GROWTH:
                    raise Broken(f"{in_use() - held} bytes more are in use than {own - 2000} programs before")
        except BaseException as error:
            page[:] = PAGE.pack(number, calls + program.calls, refused + program.refused, programs + 1, 0, 1)
            print(f"BROKEN {type(error).__name__}: {error!s:.1500}", file=sys.stderr, flush=True)
            if not isinstance(error, Broken):
                raise
            os._exit(3)
        number += options.jobs
        calls, refused, programs = calls + program.calls, refused + program.refused, programs + 1
    page[:] = PAGE.pack(number, calls, refused, programs, 1, 0)


class _Mallinfo(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]  # fmt: skip


def in_use():
    """Bytes that malloc has given out."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):  # glibc before 2.33: what the process holds
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    libc.mallinfo2.restype = _Mallinfo
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd


def processor_seconds(pid):
    """What a process has computed for, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command(*arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}  # fmt: skip
    return {"args": [sys.executable, "-X", "faulthandler", "-m", "sequences", *map(str, arguments)], "env": environment}


def replay(options, seed, number, steps=None, seconds=SECONDS):
    """(how it ends, what it said) of one program in a process of its own; how it ends is None where all is well."""
    more = ["--steps", ",".join(map(str, steps))] if steps is not None else []
    try:
        done = subprocess.run(**command("--replay", f"{seed}:{number}", *more), capture_output=True, text=True, timeout=seconds)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return "hangs", f"{(error.stdout or b'').decode()}\n{(error.stderr or b'').decode()}"
    said = done.stdout + done.stderr[-options.tail :]
    if done.returncode == 0:
        return None, said
    broken = [line for line in done.stderr.splitlines() if line.startswith("BROKEN")]
    return " ".join(broken[0].split()[:4]) if broken else f"dies (status {done.returncode})", said


def shrink(options, seed, number):
    """The fewest steps found that end as the whole program does, and what it says."""
    how, said = replay(options, seed, number)
    if how is None:
        return [], "a process of its own runs this program without fault: what came before it matters\n" + said
    steps, limit = list(range(30)), time.time() + options.shrink
    size = 8
    while size:
        i = len(steps)
        while i > 0 and time.time() < limit:
            fewer = steps[: max(i - size, 0)] + steps[i:]
            ends, text = replay(options, seed, number, fewer)
            if ends == how:
                steps, said = fewer, text
            i -= size
        size //= 2
    return steps, said


def report(options, seed, number, why, said):
    print(f"\nFAILED {seed}:{number} {why}\n{said[-options.tail :]}", flush=True)
    if options.shrink:
        steps, text = shrink(options, seed, number)
        print(f"  --replay {seed}:{number} --steps {','.join(map(str, steps))}\n{text}", flush=True)


def hunt(options, job):
    """Runs the programs whose numbers leave the remainder ``job``; (failures, calls, refused, programs)."""
    failures, started = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sequences") as folder:
        path = Path(folder, "page")
        path.write_bytes(PAGE.pack(options.start * options.jobs + job, 0, 0, 0, 0, 0))
        page = mmap.mmap(os.open(path, os.O_RDWR), PAGE.size)
        told = started
        while True:
            arguments = ["--child", "--page", path, "--seed", options.seed, "--jobs", options.jobs]
            arguments += ["--calls", -(-options.calls // options.jobs), "--until", options.until]
            with open(Path(folder, "errors"), "w+") as errors:
                process = subprocess.Popen(**command(*arguments), stderr=errors)
                last, since, computed, hung = -1, 0.0, 0.0, False
                while process.poll() is None:
                    time.sleep(0.05)
                    now, spent = time.monotonic(), processor_seconds(process.pid)
                    number, calls, _, programs, _, _ = PAGE.unpack(page[:])
                    if now - told > 300:
                        told = now
                        print(f"job {job}: {calls} calls in {programs} programs, {now - started:.0f} s", flush=True)
                    if number != last:
                        last, since, computed = number, now, spent
                    elif spent - computed > SECONDS + 20 * (programs == 0) or now - since > PATIENCE:
                        hung = True
                        process.send_signal(6)  # faulthandler tells where
                        process.wait()
                number, calls, refused, programs, done, broken = PAGE.unpack(page[:])
                if done and process.returncode == 0:
                    return failures, calls, refused, programs
                errors.seek(0)
                said = errors.read()
                if last == -1 and process.returncode == 1:
                    sys.exit(said)  # a mistake of these files
                failures += 1
                why = "hangs" if hung else "breaks a promise" if broken else f"dies (status {process.returncode})"
                report(options, options.seed, number, why, said)
                if failures >= options.failures:
                    return failures, calls, refused, programs
                page[:] = PAGE.pack(number + options.jobs, calls, refused, programs + (not broken), 0, 0)


def one(options):
    from sequences.machine import Broken
    from sequences.program import Program

    warnings.simplefilter("ignore")
    faulthandler.enable()
    faulthandler.dump_traceback_later(SECONDS - 1)
    seed, number = map(int, options.replay.split(":"))
    keep = None if options.steps is None else {int(s) for s in options.steps.split(",") if s}
    for tell in (True, False):  # the second time as in a long run: twice, if it was run twice there
        try:
            Program(seed, number).run(keep, tell)
        except BaseException as error:
            print(f"BROKEN {type(error).__name__}: {error!s:.1500}", file=sys.stderr, flush=True)
            if not isinstance(error, Broken):
                raise
            sys.stdout.flush()
            os._exit(3)


def main():
    parser = argparse.ArgumentParser(prog="python -m sequences", description=sys.modules["sequences"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--calls", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first program, of each job")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time, whatever is left")
    parser.add_argument("--failures", type=int, default=20, help="stop a job after so many")
    parser.add_argument("--shrink", type=float, default=60, help="seconds that each failure may be made smaller for")
    parser.add_argument("--tail", type=int, default=2500, help="characters of what a child said to show")
    parser.add_argument("--replay", metavar="SEED:NUMBER")
    parser.add_argument("--steps", help="with --replay: only these")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--page", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.until = options.until or time.time() + options.seconds
    if options.child:
        return child(options)
    if options.replay:
        return one(options)
    from concurrent.futures import ThreadPoolExecutor

    started = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda job: hunt(options, job), range(options.jobs)))
    failures, calls, refused, programs = map(sum, zip(*results))
    print(f"{calls} calls, {refused} of them refused, in {programs} programs of seed {options.seed}: {failures} failures, {time.monotonic() - started:.0f} s")  # fmt: skip
    return sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
