"""Times networks of many kinds as plans of ours, and as files of theirs in onnxruntime.

    python ci/bench_onnxruntime.py                          # all, with one thread and with two
    python ci/bench_onnxruntime.py lstm 'mobilenet*' --threads 1 --profile

Both have the same weights: onnxruntime runs what `torch.onnx.export` writes.  Ours is the faster of `torch.compile` and a frozen
trace.  Contenders take turns, round by round, and pause between them, so that waiting threads of one do not spin beside the
other; a figure is the median of the rounds, and a ratio that of the rounds' ratios.  With one thread the clock is the
processor's, which other load disturbs least.
"""

import argparse
import fnmatch
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy
import onnxruntime
import torch
from onnx_models import MODELS, make

PAUSE = 0.005  # seconds: longer than a pool's threads spin


def session_of(model, x, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    proto = torch.onnx.export(model, (x,)).model_proto
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, feed)[0]


def contenders(name, threads):
    """By name, functions without arguments that give the same array."""
    torch.set_num_threads(threads)
    model, x = make(name)
    compiled, traced = torch.compile(model), torch.jit.freeze(torch.jit.trace(model, (x,)))
    return {
        "compile": lambda: compiled(x).numpy(),
        "trace": lambda: traced(x).numpy(),
        "onnxruntime": session_of(model, x, threads),
    }


def difference(calls):
    """The largest one between ours and theirs, of the largest number."""
    theirs = calls["onnxruntime"]()
    scale = max(float(numpy.abs(theirs).max()), 1e-30)
    return max(float(numpy.abs(call() - theirs).max()) for call in calls.values()) / scale


def measure(name, threads, rounds, seconds):
    clock = time.process_time if threads == 1 else time.perf_counter
    with torch.no_grad():
        calls = contenders(name, threads)
        apart = difference(calls)
        times, counts = {kind: [] for kind in calls}, {}
        for kind, call in calls.items():
            for _ in range(5):
                call()
            began = time.perf_counter()
            call()
            counts[kind] = max(1, int(seconds / (time.perf_counter() - began)))
        for _ in range(rounds):
            for kind, call in calls.items():
                time.sleep(PAUSE)
                call()
                began = clock()
                for _ in range(counts[kind]):
                    call()
                times[kind].append((clock() - began) / counts[kind])
    medians = {kind: statistics.median(t) for kind, t in times.items()}
    ours = min(("compile", "trace"), key=medians.get)
    ratios = [a / b for a, b in zip(times[ours], times["onnxruntime"], strict=True)]
    return {
        "model": name,
        "threads": threads,
        **{kind: round(1e3 * t, 4) for kind, t in medians.items()},
        "ours": ours,
        "ratio": round(statistics.median(ratios), 3),
        "difference": apart,
    }


def profile(name):
    """Where the frozen trace spends its time."""
    torch.set_num_threads(1)
    model, x = make(name)
    traced = torch.jit.freeze(torch.jit.trace(model, (x,)))
    with torch.no_grad():
        for _ in range(5):
            traced(x)
        with torch.autograd.profiler.profile(record_shapes=True) as seen:
            for _ in range(10):
                traced(x)
    print(seen.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total", row_limit=30))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["*"], help="names or patterns of them (default: all)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.05, help="of one turn (default: 0.05)")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--profile", action="store_true", help="say where ours spends its time instead")
    options = parser.parse_args()
    if min([*options.threads, options.rounds]) < 1 or options.seconds <= 0:
        parser.error("--threads, --rounds and --seconds must be positive")
    names = [name for name in MODELS if any(fnmatch.fnmatch(name, pattern) for pattern in options.models)]
    if not names:
        parser.error(f"no model is called {' or '.join(options.models)}: expected {', '.join(MODELS)}")
    if options.profile:
        for name in names:
            profile(name)
        return 0
    rows = []
    print(f"{'ms':<18} {'threads':>7} {'compile':>9} {'trace':>9} {'onnxruntime':>11} {'ratio':>6} {'difference':>10}")
    for threads in options.threads:
        for name in names:
            row = measure(name, threads, options.rounds, options.seconds)
            rows.append(row)
            print(
                f"{name:<18} {threads:>7} {row['compile']:>9.3f} {row['trace']:>9.3f} {row['onnxruntime']:>11.3f}"
                f" {row['ratio']:>6.2f} {row['difference']:>10.1e}",
                flush=True,
            )
        here = [row["ratio"] for row in rows if row["threads"] == threads]
        print(
            f"{'':<18} {threads:>7} geometric mean {statistics.geometric_mean(here):.2f}, not slower in"
            f" {sum(r <= 1 for r in here)} of {len(here)}, load {os.getloadavg()[0]:.2f}"
        )
    if options.json:
        of = {
            "onnxruntime": onnxruntime.__version__,
            "torch": torch.__version__,
            "machine": platform.processor() or platform.machine(),
        }
        options.json.write_text(json.dumps({"of": of, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
