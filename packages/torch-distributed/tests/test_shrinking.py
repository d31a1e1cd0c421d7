"""A job that goes on without some of its ranks."""

import os
import signal

import pytest
import torch
import torch.distributed as dist


def test_the_others_go_on_after_a_rank_has_died(ranks):
    def work(rank):
        with pytest.raises(dist.DistBackendError, match="rank 1"):
            for i in range(1000):
                if rank == 1 and i == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                dist.all_reduce(torch.ones(3))
        group = dist.shrink_group([1])
        assert group is dist.group.WORLD
        assert dist.get_rank() == {0: 0, 2: 1, 3: 2}[rank]
        x = torch.full((100_000,), float(rank))
        dist.all_reduce(x)
        some = dist.new_group([0, 2])
        if dist.get_rank() != 1:
            dist.all_reduce(x, group=some)
        return dist.get_world_size(), x[0].item()

    results = ranks(4, work, errors=True)
    assert results[1].exitcode == -signal.SIGKILL
    assert [results[r] for r in (0, 2, 3)] == [(3, 10.0), (3, 5.0), (3, 10.0)]


def test_a_part_shrinks_and_the_whole_stays(ranks):
    def work(rank):
        some = dist.new_group([0, 2, 3])
        if rank in (0, 3):
            pair = dist.shrink_group([1], some)
            assert dist.get_process_group_ranks(pair) == [0, 3]
            x = torch.ones(2)
            dist.all_reduce(x, group=pair)
            assert x.tolist() == [2.0, 2.0]
        dist.barrier()
        return dist.get_world_size()

    assert ranks(4, work) == [4] * 4


def test_ranks_that_are_none_are_refused(ranks):
    def work(rank):
        for places in ([], [2], [0, 0], [-1]):
            with pytest.raises(ValueError, match="must be different places from 0 to 1, got"):
                dist.shrink_group(places)
        with pytest.raises(ValueError, match="are all ranks"):
            dist.shrink_group([0, 1])
        with pytest.raises(RuntimeError, match=f"rank {rank} is one of those to exclude"):
            dist.shrink_group([rank])

    ranks(2, work)
