"""What these programs share: their options, and the course of a training run with progress, checkpoints and resuming."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
from tqdm import tqdm

T = TypeVar("T")


def count(text: str) -> int:
    """A positive number of the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def options(doc: str, checkpoint: str, epochs: int) -> argparse.ArgumentParser:
    """A parser with the options that all programs have; each adds its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=count, default=epochs, help=f"passes over the data (default: {epochs})")
    parser.add_argument("--stop-after", type=count, metavar="EPOCH", help="leave the rest of the epochs to --resume")
    parser.add_argument("--steps", type=count, help="stop each epoch after so many batches (to try things out)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=count, help="processor cores to use (default: all)")
    parser.add_argument(
        "--checkpoint", type=Path, default=Path("runs", checkpoint), help="where to keep what was learned"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


class Course:
    """The epochs of one run.

    What is passed by name (modules, optimizers, schedules) is kept in the checkpoint after every epoch and restored from it.
    Each epoch begins with a seed of its own, so that a run that was cut and resumed ends where the whole one ends.
    """

    def __init__(self, args: argparse.Namespace, **kept: Any) -> None:
        self.args, self.kept = args, kept
        self.history: list[dict[str, float]] = []
        if args.threads:
            torch.set_num_threads(args.threads)
        if args.resume:
            if not args.checkpoint.exists():
                sys.exit(f"--resume: there is no {args.checkpoint}; a run without --resume writes it")
            state = torch.load(args.checkpoint)
            for name, part in kept.items():
                part.load_state_dict(state[name])
            self.history = state["history"]
            print(f"resuming {args.checkpoint} after {len(self.history)} epochs")

    def epochs(self) -> Iterator[int]:
        """The numbers of the epochs that are left, from 1; `report` ends each."""
        last = min(self.args.epochs, self.args.stop_after or self.args.epochs)
        for epoch in range(len(self.history) + 1, last + 1):
            torch.manual_seed(self.args.seed * 1000 + epoch)
            self.began = time.perf_counter()
            yield epoch

    def batches(self, batches: Iterable[T], total: int) -> Iterator[T]:
        """The batches of one epoch behind a progress bar, as many as --steps allows."""
        total = min(total, self.args.steps or total)
        bar = tqdm(batches, f"epoch {len(self.history) + 1}", total, leave=False, disable=self.args.quiet)
        for number, batch in enumerate(bar, 1):
            yield batch
            if number == total:
                break

    def report(self, **numbers: float) -> None:
        """End an epoch: print its numbers and keep everything."""
        self.history.append(numbers)
        said = ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())
        print(f"epoch {len(self.history):2}: {said} ({time.perf_counter() - self.began:.1f} s)")
        self.args.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        state = {name: part.state_dict() for name, part in self.kept.items()}
        torch.save({**state, "history": self.history}, self.args.checkpoint)
