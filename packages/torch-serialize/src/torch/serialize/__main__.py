"""Looks into checkpoints and converts them, without running anything that is in them.

python -m torch.serialize inspect FILE           names, shapes, types, bytes, sharing
python -m torch.serialize convert FROM TO        a format that the ending of TO tells
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys

from . import convert, get_unsafe_globals_in_checkpoint, inspect
from ._inspect import TensorInfo, kind_of
from .sharded import find_index, is_index


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m torch.serialize", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    look = commands.add_parser("inspect", help="list the tensors of a file")
    look.add_argument("file", help="a file of any format, an index of several, or the folder with one")
    look.add_argument("--json", action="store_true", help="one JSON object for each tensor")
    turn = commands.add_parser("convert", help="write the tensors of a file in another format")
    turn.add_argument("file", help="a file of any format, an index of several, or the folder with one")
    turn.add_argument("target", help="*.safetensors, *.npz, *.npy, *.pt, *.pth or *.bin")
    turn.add_argument("--format", choices=("zip", "stream", "tar"), help="of a .pt file: one of the older ones")
    turn.add_argument("--max-shard-size", metavar="5GB", help="write several files and an index")
    args = parser.parse_args(argv)
    try:
        if args.command == "inspect":
            _inspect(args.file, args.json)
        else:
            _convert(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (RuntimeError, OSError, EOFError, pickle.UnpicklingError, TypeError, ValueError) as e:
        text = str(e).splitlines()[0] if str(e) else type(e).__name__
        print(text if args.file in text else f"{args.file}: {text}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def _inspect(file: str, as_json: bool) -> None:
    file = find_index(file) if os.path.isdir(file) else file
    rows = inspect(file)
    if as_json:
        for row in rows:
            print(json.dumps(row._asdict()))
        return
    print(f"{file}: {kind_of(file)}")
    first: dict[int, TensorInfo] = {}
    table = []
    for row in rows:
        owner = first.setdefault(row.storage, row)
        notes = [] if row.kind == "tensor" else [row.kind]
        notes += ["requires grad"] if row.requires_grad else []
        notes += [f"shares memory with {_shown(owner.name)}"] if owner is not row else []
        table.append(
            (_shown(row.name) or "(the object itself)", row.dtype, str(row.shape), f"{row.nbytes:,}", ", ".join(notes))
        )
    widths = [max(map(len, column)) for column in zip(*table)]
    for name, dtype, shape, nbytes, notes in table:
        line = f"  {name:{widths[0]}}  {dtype:{widths[1]}}  {shape:{widths[2]}}  {nbytes:>{widths[3]}}  {notes}"
        print(line.rstrip())
    total = sum(row.nbytes for row in first.values())
    print(f"{len(rows)} tensor{'s' * (len(rows) != 1)}, {total:,} bytes")
    if not is_index(file) and (unsafe := get_unsafe_globals_in_checkpoint(file)):
        names = ", ".join(map(_shown, unsafe[:20])) + ", ..." * (len(unsafe) > 20)
        print(f"not only data: it names {names}; load refuses these unless they are allowed (add_safe_globals)")


def _shown(name: str) -> str:
    """A name from a file as one line that cannot speak to the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)


def _convert(args) -> None:
    left_out = convert(args.file, args.target, format=args.format, max_shard_size=args.max_shard_size)
    if left_out:
        names = ", ".join(map(_shown, left_out[:20])) + ", ..." * (len(left_out) > 20)
        print(f"left out, being no tensors: {names}")


if __name__ == "__main__":
    sys.exit(main())
