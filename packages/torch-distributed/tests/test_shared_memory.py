"""Ranks of one machine exchange through memory that all see: the same results as by messages, and nothing is left."""

import gc
import hashlib
import os
import re
import time

import pytest
import torch
import torch.distributed as dist
from torch.distributed._engines import board, near
from torch.distributed._engines.sockets import ProcessGroupGloo

HALF = (board.HALF - board.HEADER) // 4  # elements of float32
LENGTHS = [0, 1, 7, near.SHORT // 4, near.SHORT // 4 + 1, HALF + 5, 1_500_001]


def value(rank, length, seed=0):
    return torch.randn(length, generator=torch.Generator().manual_seed(100 * seed + rank))


def everything(rank, size):
    """The results of every collective with every length."""
    found = []
    for i, n in enumerate(LENGTHS):
        x = value(rank, n, i)
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist._make_nccl_premul_sum(0.5)):
            y = x.clone()
            dist.all_reduce(y, op)
            found.append(y)
        for root in range(size):
            y = x.clone()
            dist.reduce(y, root)
            found.append(y)
            y = x.clone()
            dist.broadcast(y, root)
            found.append(y)
        outputs = [torch.empty(n) for _ in range(size)]
        dist.all_gather(outputs, x)
        found += outputs
        outputs = [torch.empty(n) for _ in range(size)]
        dist.gather(x, outputs if rank == 1 else None, 1)
        found += outputs if rank == 1 else []
        y = torch.empty(n)
        dist.scatter(y, [value(r, n, i + 50) for r in range(size)] if rank == 0 else None, 0)
        found.append(y)
        y = torch.empty(n)
        dist.reduce_scatter(y, [value(r + 10 * rank, n, i) for r in range(size)])
        found.append(y)
        dist.barrier()
    return found


@pytest.mark.parametrize("size", [2, 3, 5])
def test_every_collective_gives_the_bits_that_messages_give(ranks, monkeypatch, size):
    if size == 5:
        monkeypatch.setattr(f"{__name__}.LENGTHS", [0, 3, 9000, 300_001])

    def work(rank):
        assert ("memory" in dist.group.WORLD.engine()) == (os.environ.get("TORCH_DISTRIBUTED_SHARED_MEMORY") != "0")
        return [hashlib.sha256(x.numpy().tobytes()).hexdigest() for x in everything(rank, size)]

    shared = ranks(size, work)
    monkeypatch.setenv("TORCH_DISTRIBUTED_SHARED_MEMORY", "0")
    assert shared == ranks(size, work)


def test_one_rank_without_it_makes_all_send_messages(ranks):
    def make(rank, size):
        if rank == 1:
            os.environ["TORCH_DISTRIBUTED_SHARED_MEMORY"] = "0"
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size)

    def work(rank):
        some = dist.new_group([0, 2])
        x = torch.full((100_000,), float(rank))
        dist.all_reduce(x)
        y = x.clone()
        if rank != 1:
            dist.all_reduce(y, group=some)
        return dist.group.WORLD.engine(), some.engine() if rank != 1 else "", x[0].item(), y[0].item()

    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    try:
        results = ranks(3, work, make=make)
    finally:
        store.close()
    assert [r[2:] for r in results] == [(3.0, 6.0), (3.0, 3.0), (3.0, 6.0)]
    assert all("memory" not in r[0] for r in results)
    assert "memory" in results[0][1]
    assert "memory" in results[2][1]


def test_groups_at_work_at_once_do_not_disturb_each_other(ranks):
    def work(rank):
        groups = [dist.new_group(list(range(3))) for _ in range(4)]
        groups.append(dist.new_group([0, 2]))
        lines, works = [], []
        for i in range(10):
            for g, group in enumerate(groups):
                if group is dist.GroupMember.NON_GROUP_MEMBER:
                    continue
                lines.append((torch.full((50_000 * (g + 1),), float(rank + i)), group.size(), i))
                works.append(dist.all_reduce(lines[-1][0], group=group, async_op=True))
        for one in reversed(works):
            one.wait()
        for line, size, i in lines:
            members = [0, 1, 2] if size == 3 else [0, 2]
            assert torch.equal(line, torch.full_like(line, float(sum(r + i for r in members))))

    ranks(3, work)


def test_one_who_waits_at_the_board_for_one_who_waits_for_messages_is_told(ranks):
    def work(rank):
        dist.barrier()
        if rank == 0:
            dist.all_to_all([torch.empty(1)] * 2, [torch.ones(1)] * 2)  # by messages
        else:
            dist.all_reduce(torch.ones(1))

    began = time.monotonic()
    for result in ranks(2, work, errors=True):
        assert re.search(
            r"collective 1 of group default: rank 0 calls all_to_all.*rank 1 calls all_reduce", str(result)
        )
    assert time.monotonic() - began < 15  # and not the 20 seconds of the group


def test_one_root_who_waits_for_nobody_finds_out_at_its_next_call(ranks):
    def work(rank):
        dist.broadcast(torch.ones(2 + rank), 0)
        dist.barrier()

    for result in ranks(2, work, errors=True):
        assert re.search("rank 0 calls broadcast.2 elements.*rank 1 calls broadcast.3 elements", str(result)), result


def test_a_group_leaves_no_descriptor_open(ranks):
    def work(rank):
        store = dist.distributed_c10d._get_default_store()
        dist.all_reduce(torch.ones(100_000))
        before = len(os.listdir("/proc/self/fd"))
        for i in range(3):
            group = ProcessGroupGloo(dist.PrefixStore(str(i), store), rank, 2, 20.0)
            group.allreduce([torch.ones(100_000)]).wait()
            group.shutdown()
            del group
        deadline = time.monotonic() + 10  # the threads of the groups end a little later than these
        while (more := len(os.listdir("/proc/self/fd")) - before) > 0 and time.monotonic() < deadline:
            time.sleep(0.05)
            gc.collect()
        return more

    assert max(ranks(2, work)) <= 0  # fewer where the group that was there before had one that closes by and by


def test_memory_is_taken_only_as_far_as_it_is_written(ranks):
    def work(rank):
        dist.all_reduce(torch.ones(10))
        with open("/proc/self/smaps_rollup") as file:
            pages = next(line for line in file if line.startswith("Pss_Shmem"))
        return int(pages.split()[1])

    assert max(ranks(2, work)) < 4096  # KiB, of the gigabyte that is mapped
