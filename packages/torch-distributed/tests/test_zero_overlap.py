"""Parameters that backward itself updates, each on the rank that has it, against training in one process."""

import pytest
import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook, default_hooks
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

HOOKS = [ddp_zero_hook.hook_with_zero_step, ddp_zero_hook.hook_with_zero_step_interleaved]


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 3)).double()


def batch(step, rank=None, size=None):
    pick = torch.Generator().manual_seed(step)
    x, y = torch.randn(12, 6, generator=pick).double(), torch.randn(12, 3, generator=pick).double()
    return (x, y) if rank is None else (x.chunk(size)[rank], y.chunk(size)[rank])


def overlapped(model, hook, optimizer_class=torch.optim.Adam, **settings):
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.001)
    zero = ZeroRedundancyOptimizer(ddp.parameters(), optimizer_class, overlap_with_ddp=True, **settings)
    ddp.register_comm_hook(None, hook(default_hooks.allreduce_hook, ddp, zero))
    return ddp, zero


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    ("optimizer_class", "settings"),
    [(torch.optim.Adam, {"lr": 0.05}), (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9})],
)
def test_backward_updates_the_parameters_as_a_step_of_one_process_does(ranks, hook, optimizer_class, settings):
    def work(rank):
        torch.distributed._data_parallel.reducer.FIRST_BUCKET = 500
        one = net()
        plain = optimizer_class(one.parameters(), **settings)
        ddp, zero = overlapped(net(), hook, optimizer_class, **settings)
        slower, slower_too = (torch.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in (plain, zero))
        for step in range(5):
            plain.zero_grad()
            x, y = batch(step)
            (one(x) - y).square().mean().backward()
            plain.step()
            slower.step()
            zero.zero_grad()
            x, y = batch(step, rank, 3)
            (ddp(x) - y).square().mean().backward()
            zero.step()  # may stay in the program
            slower_too.step()
            for p, q in zip(ddp.module.parameters(), one.parameters(), strict=True):
                assert torch.allclose(p, q, rtol=1e-10, atol=1e-13)
                assert torch.allclose(p.grad, q.grad, rtol=1e-10, atol=1e-13)
        assert len(ddp.reducer.buckets) > 2
        held = sum(t.numel() for state in zero.optim.state.values() for t in state.values() if t.dim())
        zero.consolidate_state_dict(0)
        if rank == 0:
            ours, theirs = zero.state_dict()["state"], plain.state_dict()["state"]
            assert sorted(ours) == sorted(theirs)
            for i in theirs:
                for name, value in theirs[i].items():
                    assert torch.allclose(ours[i][name], value, rtol=1e-9, atol=1e-13)
        return held

    held = ranks(3, work)
    whole = sum(p.numel() for p in net().parameters()) * (2 if optimizer_class is torch.optim.Adam else 1)
    assert sum(held) == whole
    assert max(held) < whole


def test_gradients_of_several_passes_may_add_up_before(ranks):
    def work(rank):
        one = net()
        plain = torch.optim.SGD(one.parameters(), lr=0.1)
        ddp, _ = overlapped(net(), HOOKS[0], torch.optim.SGD, lr=0.1)
        first = [p.detach().clone() for p in ddp.parameters()]
        with ddp.no_sync():
            x, y = batch(0, rank, 2)
            (ddp(x) - y).square().mean().backward()
        assert all(map(torch.equal, ddp.parameters(), first))
        x, y = batch(1, rank, 2)
        (ddp(x) - y).square().mean().backward()
        for step in range(2):
            x, y = batch(step)
            (one(x) - y).square().mean().backward()
        plain.step()
        for p, q in zip(ddp.module.parameters(), one.parameters(), strict=True):
            assert torch.allclose(p, q, rtol=1e-10)

    ranks(2, work)


def test_what_does_not_go_together_is_refused(ranks):
    def work(rank):
        model = DistributedDataParallel(net())
        plain = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
        with pytest.raises(ValueError, match="made without overlap_with_ddp=True"):
            HOOKS[0](default_hooks.allreduce_hook, model, plain)
        zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1)
        with pytest.raises(NotImplementedError, match="there is no shard_buckets"):
            HOOKS[1](default_hooks.allreduce_hook, model, zero, shard_buckets=True)
        searching = DistributedDataParallel(net(), find_unused_parameters=True)
        with pytest.raises(NotImplementedError, match="without find_unused_parameters"):
            HOOKS[0](default_hooks.allreduce_hook, searching, zero)
        part = ZeroRedundancyOptimizer(model.module[0].parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1)
        with pytest.raises(ValueError, match=r"the optimizer does not have 2.weight, 2.bias, 4.weight, 4.bias"):
            HOOKS[0](default_hooks.allreduce_hook, model, part)
        with pytest.raises(RuntimeError, match="no closure can be evaluated"):
            zero.step(lambda: None)
        with pytest.raises(NotImplementedError, match="as many batches each"):
            zero.join_hook()

    ranks(2, work)


def test_a_hook_that_fails_ends_the_step_with_its_reason(ranks):
    def work(rank):
        torch.distributed._data_parallel.reducer.FIRST_BUCKET = 500
        model = DistributedDataParallel(net(), bucket_cap_mb=0.001)
        zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1)

        def broken(state, bucket):
            if bucket.index() == 0:
                return default_hooks.allreduce_hook(state, bucket)
            raise ArithmeticError("no")

        model.register_comm_hook(None, HOOKS[1](broken, model, zero))
        x, y = batch(0, rank, 2)
        (model(x) - y).square().mean().backward()

    assert all(isinstance(one, ArithmeticError) for one in ranks(2, work, errors=True))
