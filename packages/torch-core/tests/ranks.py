"""Calls every operator, hidden ones included, with operands of every rank and with sizes 0 and 1: 0-d, empty, of too few
dims and of too many. The result may be anything, or an exception; the process must live.

    python ranks.py             # all, in a child, whose last call is named when it dies
    python ranks.py --grad      # floating operands need gradients, and results are differentiated
    python ranks.py --only REGEX --from NAME
"""

import argparse
import contextlib
import itertools
import mmap
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from rows import ROWS
from targets import EXPECTED, parameters

SHAPES = [(), (0,), (3,), (0, 3), (3, 0), (2, 3), (2, 3, 3), (1, 2, 3, 3), (1, 2, 0, 3), (2, 1, 2, 3, 3), (1,) * 7]
INTS = [0, 1, -1, 7, -7]
DTYPES = [torch.float32, torch.int64, torch.complex64, torch.bool]
PAGE = 4096  # bytes of the text of a call
INDICES = re.compile("ind(ex|ices)|offsets|target|sorter|boundaries|lengths")


def value(kind, name, own, number, dtype, grad):
    """An argument for a parameter: a tensor of the shape `own`, or something small made of `number`."""
    kind = kind.rstrip("?")
    if kind in ("Tensor", "Number"):
        made = torch.zeros(own, dtype=torch.int64) if INDICES.search(name) else torch.ones(own, dtype=dtype)
        return made.requires_grad_() if grad and made.dtype.is_floating_point else made
    if kind in ("Tensor[]", "Tensor?[]"):
        return [value("Tensor", name, own, number, dtype, grad)] * 2
    if size := re.fullmatch(r"int\[(\d*)\]", kind):
        return [number] * int(size[1] or 1)
    return {
        "int": number,
        "Scalar": number,
        "float": float(number),
        "bool": number > 0,
        "str": "sum",
        "dtype": torch.float64,
        "memory_format": torch.channels_last,
    }.get(kind)


def calls(row, grad):
    """Arguments: the first tensor of one shape, the others of another; numbers that are dims, sizes or neither."""
    required = [p for p in parameters(row.schema) if not p[3]]
    rest = [p for p in parameters(row.schema) if p[3]]
    several = sum("Tensor" in kind or kind == "Number" for kind, *_ in required + rest) > 1
    for dtype, first, number in itertools.product(DTYPES[:1] if grad else DTYPES, SHAPES, INTS):
        for other in SHAPES if several and dtype is DTYPES[0] else [first]:
            for filled in (False, True):
                named = {}
                tensors = 0
                for kind, name, *_ in required + rest * filled:
                    own = first if not tensors else other
                    tensors += "Tensor" in kind or kind == "Number"
                    named["input" if name == "self" else name] = value(kind, name, own, number, dtype, grad)
                yield {name: v for name, v in named.items() if v is not None or name in (r[1] for r in required)}
                if not rest:
                    break


def look_at(result):
    for t in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(t, torch.Tensor) and t.layout == torch.strided and t.numel() < 1000:
            t.tolist()


def differentiate(result):
    for t in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(t, torch.Tensor) and t.requires_grad:
            t.sum().backward()


def run(options):
    """Makes the calls, each after it has been written down."""
    warnings.simplefilter("ignore")
    with open(options.page, "r+b") as file:
        page = mmap.mmap(file.fileno(), PAGE)
    count = 0
    for row in itertools.dropwhile(lambda row: options.start and row.name != options.start, ROWS):
        if not re.search(options.only, row.name):
            continue
        for kwargs in calls(row, options.grad):
            text = f"{row.schema[:100]} called with {[tuple(v.shape) if isinstance(v, torch.Tensor) else v for v in kwargs.values()]}".encode()[
                :PAGE
            ]
            page[:] = text.ljust(PAGE)
            count += 1
            with contextlib.suppress(*EXPECTED):
                result = row.call(**kwargs)
                look_at(result)
                if options.grad:
                    differentiate(result)
    print(f"{count} calls")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grad", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--from", dest="start", default="")
    parser.add_argument("--page", help=argparse.SUPPRESS)
    options = parser.parse_args()
    run(options) if options.page else watch()


def watch():
    """Runs all in a child; its death is told with the call that it made last."""
    with tempfile.NamedTemporaryFile() as page:
        page.write(bytes(PAGE))
        page.flush()
        command = [sys.executable, "-X", "faulthandler", __file__, *sys.argv[1:], "--page", page.name]
        status = subprocess.run(command).returncode
        if status:
            page.seek(0)
            sys.exit(f"status {status}: {page.read().decode(errors='replace').strip()}")


if __name__ == "__main__":
    main()
