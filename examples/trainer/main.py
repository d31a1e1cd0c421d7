"""Tell two spirals apart with torch.utils.trainer: plugins measure, print, draw a bar, test and keep checkpoints.

python main.py                     # 60 epochs
python main.py --resume            # go on from the last checkpoint
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.trainer import Trainer
from torch.utils.trainer.plugins import (
    AccuracyMonitor,
    Checkpoint,
    Evaluation,
    Logger,
    LossMonitor,
    ProgressBar,
    ProgressMonitor,
    TimeMonitor,
)


def spirals(count: int, seed: int) -> TensorDataset:
    """Points (count, 2) on two arms that wind around each other, with some noise, and the arm (count) of each."""
    random = torch.Generator().manual_seed(seed)
    arm = torch.arange(count) % 2
    along = torch.rand(count, generator=random).sqrt()
    angle = 3 * math.pi * along + math.pi * arm
    points = torch.stack([along * angle.cos(), along * angle.sin()], 1)
    return TensorDataset(points + 0.02 * torch.randn(count, 2, generator=random), arm)


def right(output: Tensor, target: Tensor) -> Tensor:
    return (output.argmax(1) == target).float().mean()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--stop-after", type=int, metavar="EPOCH", help="leave the rest of the epochs to --resume")
    parser.add_argument("--checkpoint", type=Path, default=Path("runs/spirals.pt"))
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--bar", action="store_true", help="a progress bar in place of lines for some iterations")
    return parser.parse_args()


def main() -> None:
    args = options()
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    data: DataLoader = DataLoader(spirals(args.samples, seed=1), batch_size=100, shuffle=True)
    trainer = Trainer(net, F.cross_entropy, optim.Adam(net.parameters(), lr=5e-3), data)
    trainer.register_plugin(ProgressMonitor())
    trainer.register_plugin(LossMonitor())
    trainer.register_plugin(AccuracyMonitor())
    trainer.register_plugin(TimeMonitor())
    test: DataLoader = DataLoader(spirals(1000, seed=2), batch_size=500)
    trainer.register_plugin(Evaluation(test, {"loss": F.cross_entropy, "right": right}))
    trainer.register_plugin(Checkpoint(args.checkpoint))
    every = (len(data) + 1) // 2
    lines = [(1, "epoch")] if args.bar else [(every, "iteration"), (1, "epoch")]
    trainer.register_plugin(Logger(["progress", "loss", "accuracy", "time", "test"], lines))
    if args.bar:
        trainer.register_plugin(ProgressBar(["loss", "accuracy"]))
    if args.resume:
        trainer.resume(args.checkpoint)
        print(f"resuming {args.checkpoint} after {trainer.epochs} epochs")
    trainer.run(min(args.epochs, args.stop_after or args.epochs) - trainer.epochs)
    print(f"{trainer.stats['test']['right']:.1%} of unseen points right; checkpoint in {args.checkpoint}")


if __name__ == "__main__":
    main()
