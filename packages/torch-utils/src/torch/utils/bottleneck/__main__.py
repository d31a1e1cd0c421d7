"""The program of ``python -m torch.utils.bottleneck``."""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import pstats
import sys
import types
from pathlib import Path

from torch import _seams, doctor
from torch.utils.flop_counter import flop_registry

LINE = "-" * 100


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m torch.utils.bottleneck", description=__doc__)
    parser.add_argument("--top", type=int, default=15, help="rows of each table (default: 15)")
    parser.add_argument("--sort", choices=["tottime", "cumtime", "ncalls"], default="tottime")
    parser.add_argument("script", type=Path, help="the program to look at")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    options = parser.parse_args(arguments)
    if not options.script.is_file():
        parser.error(f"no program {options.script}")
    recorder = autograd_profile()
    stats, status = profile(options.script, options.arguments, recorder)
    print(f"{LINE}\nEnvironment\n{LINE}\n{doctor.report()}\n")
    print(f"{LINE}\nFunctions of Python, by {options.sort}\n{LINE}\n{table(stats, options.sort, options.top)}")
    print(f"{LINE}\nautograd profiler output (CPU mode)\n{LINE}\n{operators(recorder, options.top)}")
    counted = products(_seams.take_notes())
    print(f"{LINE}\nProducts and convolutions of torch, forward and backward\n{LINE}\n{counted}")
    if status:
        print(f"the program ended with status {status}")
    return status


def autograd_profile():
    """The profiler of torch-autograd; one that records nothing where that part is not installed."""
    try:
        from torch.autograd import profiler
    except ModuleNotFoundError:
        return contextlib.nullcontext()
    return profiler.profile()


def operators(recorder, top: int) -> str:
    """The longest events, one a row."""
    if isinstance(recorder, contextlib.nullcontext):
        return "torch.autograd is in the distribution 'torch-autograd', which is not installed\n"
    table = recorder.table(sort_by="cpu_time_total", row_limit=top)
    return f"        top {top} events sorted by cpu_time_total\n\n{table or 'no operator was called'}\n"


def profile(script: Path, arguments: list[str], recorder) -> tuple[pstats.Stats, int]:
    """Run a program as ``python script.py`` would; what it raises is printed and counts as status 1."""
    code = compile(script.read_bytes(), str(script), "exec")
    program = types.ModuleType("__main__")
    program.__file__ = str(script)
    kept, path, before = sys.argv, list(sys.path), sys.modules["__main__"]
    profiler = cProfile.Profile()
    status = 0
    sys.argv, sys.path[0:1] = [str(script), *arguments], [str(script.resolve().parent)]
    sys.modules["__main__"] = program
    _seams.note_calls(True)
    try:
        with recorder:
            profiler.runctx(code, vars(program), vars(program))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        _seams.note_calls(False)
        sys.argv, sys.path[:] = kept, path
        sys.modules["__main__"] = before
    return pstats.Stats(profiler, stream=io.StringIO()), status


def products(notes: list) -> str:
    """How often each operator that costs much was called, and the floating point operations of those calls."""
    counts: dict[str, list[int]] = {}
    for op, arguments, results in notes:
        row = counts.setdefault(op, [0, 0])
        row[0] += 1
        row[1] += flop_registry[op](*arguments, out_shape=results[0])
    lines = [f"{'calls':>12}{'GFLOP':>14}  operator"]
    for op, (calls, flops) in sorted(counts.items(), key=lambda item: -item[1][1]):
        lines.append(f"{calls:12}{flops / 1e9:14.3f}  {op}")
    return "\n".join(lines) + "\n"


def table(stats: pstats.Stats, sort: str, top: int) -> str:
    stats.stream = io.StringIO()
    stats.sort_stats(sort).print_stats(top)
    return stats.stream.getvalue().strip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
