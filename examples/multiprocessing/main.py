"""Tensors between processes: nothing is copied, what one process writes the others see.

python main.py queue     # ten processes fill tensors and send them through a queue
python main.py pool      # a pool of processes fills a hundred tensors in place
"""

from __future__ import annotations

import argparse

import torch
import torch.multiprocessing as mp
from torch import Tensor


def produce(rank: int, size: int, queue: mp.Queue) -> None:
    """Send a tensor of this process's number."""
    queue.put((rank, torch.full((size,), float(rank))))


def with_queue(processes: int, size: int) -> None:
    """Each process sends one tensor; here their sums are taken from the shared memory they came in."""
    queue: mp.Queue = mp.Queue()
    workers = [mp.Process(target=produce, args=(rank, size, queue)) for rank in range(processes)]
    for worker in workers:
        worker.start()
    received: dict[int, Tensor] = dict(queue.get() for _ in workers)
    for worker in workers:
        worker.join()
    for rank in sorted(received):
        assert bool((received[rank] == rank).all())
    total = sum(float(tensor.sum()) for tensor in received.values())
    print(f"{len(received)} tensors of {size} elements from {processes} processes, total {total:g}")


def fill(job: tuple[Tensor, float]) -> None:
    """Write into a tensor of the parent."""
    tensor, value = job
    tensor.fill_(value)


def with_pool(processes: int, size: int, tensors: int) -> None:
    """The parent's tensors are in shared memory; the pool fills them and sends nothing back."""
    shared = [torch.zeros(size).share_memory_() for _ in range(tensors)]
    with mp.Pool(processes) as pool:
        pool.map(fill, [(tensor, float(i)) for i, tensor in enumerate(shared)])
    for i, tensor in enumerate(shared):
        assert bool((tensor == i).all())
    print(f"{tensors} tensors of {size} elements filled in place by {processes} processes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=["queue", "pool", "both"], default="both")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--size", type=int, default=1000, help="elements of each tensor")
    parser.add_argument("--tensors", type=int, default=100, help="tensors that the pool fills")
    args = parser.parse_args()
    if args.what != "pool":
        with_queue(args.processes, args.size)
    if args.what != "queue":
        with_pool(args.processes, args.size, args.tensors)


if __name__ == "__main__":
    main()
