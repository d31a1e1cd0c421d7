"""``python -m torch.serialize inspect FILE`` and ``convert FROM TO``: checkpoints on the command line, nothing run."""

from __future__ import annotations

import argparse
import pickle
import sys

from . import convert, get_unsafe_globals_in_checkpoint, inspect


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m torch.serialize", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    look = commands.add_parser("inspect", help="list the tensors of a file")
    look.add_argument("file")
    turn = commands.add_parser("convert", help="write the tensors of a file in another format, told by its ending")
    turn.add_argument("file")
    turn.add_argument("target", help="*.safetensors, *.npz, *.npy, *.pt, *.pth or *.bin")
    turn.add_argument("--format", choices=("zip", "stream", "tar"), help="of a .pt file: an older one")
    args = parser.parse_args(argv)
    try:
        if args.command == "inspect":
            _inspect(args.file)
        else:
            _convert(args.file, args.target, args.format)
    except (RuntimeError, OSError, EOFError, pickle.UnpicklingError, TypeError, ValueError, NotImplementedError) as e:
        print(f"{args.file}: {str(e).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


def _inspect(file: str) -> None:
    rows = inspect(file)
    first: dict[int, str] = {}
    width = max([len(row.name) for row in rows], default=0)
    for row in rows:
        owner = first.setdefault(row.storage, row.name)
        notes = ["requires grad"] if row.requires_grad else []
        notes += [f"shares memory with {owner}"] if owner != row.name else []
        print(f"{row.name:{width}}  {row.dtype:10}  {row.shape!s:20}  {row.nbytes:>14,}  {', '.join(notes)}".rstrip())
    total = sum(row.nbytes for row in rows if first[row.storage] == row.name)
    print(f"{len(rows)} tensors, {total:,} bytes")
    if unsafe := get_unsafe_globals_in_checkpoint(file):
        print("also asks for:", ", ".join(unsafe))


def _convert(file: str, target: str, format: str | None) -> None:
    if left_out := convert(file, target, format=format):
        print(f"left out, as they are no tensors: {', '.join(left_out[:20])}{', ...' * (len(left_out) > 20)}")


if __name__ == "__main__":
    sys.exit(main())
