"""Runs programs of 2018, the functions of the files in programs/, in one process with other devices."""

import importlib
import inspect
import json
import os
import subprocess
import sys
import traceback

#: How devices may be and run.
SETTINGS = ("", "devices=2,guard", "devices=2,guard,order=5,lazy")


def programs(file):
    """Names of a file's programs."""
    module = importlib.import_module(f"programs.{file}")
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def outcomes(file, settings):
    """What became of each program of a file: None, "skipped: why", or what was raised and where."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "program_runner", file],
        env=os.environ | {"TORCH_CUDA_HOST": settings},
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        timeout=280,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"program"')]
    found = {row["program"]: row["outcome"] for row in map(json.loads, lines)}
    for name in programs(file):
        found.setdefault(name, f"the process ended before it was done:\n{done.stderr[-2000:]}")
    return found


def main(file):
    import torch
    from programs.checks import Skipped
    from torch._cuda import _native

    module = importlib.import_module(f"programs.{file}")
    for name in programs(file):
        try:
            torch.manual_seed(0)
            getattr(module, name)()
            torch.cuda.synchronize()
            outcome = None
        except Skipped as skipped:
            outcome = f"skipped: {skipped}"
        except Exception:
            outcome = traceback.format_exc()
        print(json.dumps({"program": name, "outcome": outcome}), flush=True)
        torch.cuda.set_device(0)
        torch.cuda.set_stream(torch.cuda.default_stream())
        _native.reset()


if __name__ == "__main__":
    main(sys.argv[1])
