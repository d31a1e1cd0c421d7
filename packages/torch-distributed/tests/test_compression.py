"""Communication hooks that send less, models averaged now and then, and uneven inputs of a sharded optimizer."""

import time

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
    PowerSGDState,
    _orthogonal,
    batched_powerSGD_hook,
    powerSGD_hook,
)
from torch.distributed.algorithms.ddp_comm_hooks.quantization_hooks import quantization_pertensor_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def inputs(rank, step, width=12):
    return torch.randn(4, width, generator=torch.Generator().manual_seed(100 * step + rank)).double()


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 9)).double()


def gradients(model, rank, step):
    model.zero_grad()
    model(inputs(rank, step)).square().sum().backward()
    return [p.grad.clone() for p in model.parameters()]


def exact(world, step):
    model = net()
    (sum(model(inputs(r, step)).square().sum() for r in range(world)) / world).backward()
    return [p.grad for p in model.parameters()]


def test_orthogonal_columns():
    matrix = torch.randn(7, 3, generator=torch.Generator().manual_seed(0)).double()
    q = _orthogonal(matrix, 0)
    assert torch.allclose(q.t() @ q, torch.eye(3).double(), atol=1e-12)
    assert torch.allclose(q @ (q.t() @ matrix), matrix, atol=1e-12)


def test_a_gradient_of_low_rank_comes_through_powersgd_whole(ranks):
    def work(rank):
        model = DistributedDataParallel(nn.Linear(30, 20, bias=False).double())
        state = PowerSGDState(None, 2, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook)
        for step in range(6):
            model.zero_grad()
            x = torch.outer(torch.arange(1.0, 3.0), torch.linspace(-1, 1, 30)).double() * (rank + 1 + step)
            model(x).sum().backward()
            expected = torch.linspace(-1, 1, 30).double().expand(20, 30) * 3 * (1.5 + step)
            assert torch.allclose(model.module.weight.grad, expected, rtol=1e-9), step
        rate, before, after = state.compression_stats()
        assert (before, after) == (4 * 600, 4 * 2 * 50)
        assert rate == 6

    ranks(2, work)


@pytest.mark.parametrize("hook", [powerSGD_hook, batched_powerSGD_hook])
def test_what_powersgd_loses_comes_in_later_iterations(ranks, hook):
    def work(rank):
        model = DistributedDataParallel(net())
        state = PowerSGDState(None, 1, start_powerSGD_iter=2, min_compression_rate=1)
        model.register_comm_hook(state, hook)
        total = 0
        for _ in range(60):
            grads = gradients(model, rank, 0)  # the same data again and again
            everyone = [None] * 2
            dist.all_gather_object(everyone, grads)
            assert all(map(torch.equal, *everyone))
            total = total + torch.cat([g.reshape(-1) for g in grads])
        expected = torch.cat([g.reshape(-1) for g in exact(2, 0)])
        once = torch.cat([g.reshape(-1) for g in grads])
        assert (once - expected).norm() > 0.05 * expected.norm()
        assert (total / 60 - expected).norm() < (0.1 if hook is powerSGD_hook else 0.25) * expected.norm()

    ranks(2, work)


@pytest.mark.parametrize("hook", [powerSGD_hook, batched_powerSGD_hook, quantization_pertensor_hook])
def test_backward_goes_on_while_a_hook_exchanges_what_it_has(ranks, hook):
    """Rank 1 comes half a second late with its first bucket: rank 0 has handed over all of its own by then."""

    def work(rank):
        model = DistributedDataParallel(nn.Sequential(*[nn.Linear(520, 520) for _ in range(4)]), bucket_cap_mb=1)
        state = None if hook is quantization_pertensor_hook else PowerSGDState(None, 1, 2, min_compression_rate=1)
        handed = []

        def watched(state, bucket):
            if rank == 1 and not handed and waits:
                time.sleep(0.5)
            handed.append(time.monotonic())
            return hook(state, bucket)

        model.register_comm_hook(state, watched)
        waits = False
        for _ in range(4):
            model(torch.ones(2, 520)).sum().backward()
        waits, handed[:] = True, []
        began = time.monotonic()
        model(torch.ones(2, 520)).sum().backward()
        assert len(handed) > 2
        if rank == 0:
            assert handed[-1] - began < 0.4
            assert time.monotonic() - began > 0.4

    ranks(2, work)


def test_a_hook_that_fails_beside_backward_says_so_in_backward(ranks):
    def work(rank):
        model = DistributedDataParallel(net())
        state = PowerSGDState(None, 1, start_powerSGD_iter=2, min_compression_rate=1)
        model.register_comm_hook(state, powerSGD_hook)
        for step in range(3):
            gradients(model, rank, step)
        state.second = {key: value[:3] for key, value in state.second.items()}
        with pytest.raises(RuntimeError, match="matmul"):
            gradients(model, rank, 3)

    ranks(2, work)


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [("ALLREDUCE", 1e-12), ("FP16_COMPRESS", 3e-3), ("BF16_COMPRESS", 2e-2), ("QUANTIZE_PER_TENSOR", 3e-2),
     ("QUANTIZE_PER_CHANNEL", 2e-2)],
)  # fmt: skip
def test_hooks_by_name_average_as_closely_as_their_bits_allow(ranks, kind, tolerance):
    def work(rank):
        model = DistributedDataParallel(net())
        register_ddp_comm_hook(DDPCommHookType[kind], model, dist.group.WORLD)
        for step in range(3):
            found = torch.cat([g.reshape(-1) for g in gradients(model, rank, step)])
            expected = torch.cat([g.reshape(-1) for g in exact(2, step)])
            assert (found - expected).norm() < tolerance * expected.norm()

    ranks(2, work)


def test_hooks_by_number(ranks):
    def work(rank):
        for kind in dist.BuiltinCommHookType:
            model = DistributedDataParallel(net())
            model._register_builtin_comm_hook(kind)
            found = torch.cat([g.reshape(-1) for g in gradients(model, rank, 0)])
            expected = torch.cat([g.reshape(-1) for g in exact(2, 0)])
            assert (found - expected).norm() < 3e-3 * expected.norm()
        with pytest.raises(ValueError, match="expected a BuiltinCommHookType, got 7"):
            model._register_builtin_comm_hook(7)

    ranks(2, work)


def test_local_steps_are_averaged_after_each_period(ranks):
    def work(rank):
        model = DistributedDataParallel(net())
        subgroup, _ = dist.new_subgroups(2)
        model.register_comm_hook(PostLocalSGDState(None, subgroup, 2), post_localSGD_hook)
        optimizer = PostLocalSGDOptimizer(
            torch.optim.SGD(model.parameters(), 0.01), PeriodicModelAverager(period=3, warmup_steps=2)
        )
        spread = []
        for step in range(6):
            optimizer.zero_grad()
            model(inputs(rank, step)).square().sum().backward()
            optimizer.step()
            everyone = [None] * 4
            dist.all_gather_object(everyone, model.module[0].weight.detach().clone())
            spread.append([max(float((a - b).abs().max()) for b in everyone) for a in everyone])
            assert torch.allclose(everyone[0], everyone[1], rtol=1e-12)
            assert torch.allclose(everyone[2], everyone[3], rtol=1e-12)
        assert [max(one) < 1e-12 for one in spread] == [True, True, True, False, False, True]
        assert optimizer.state_dict()["step"] == 6

    ranks(4, work)


def test_small_groups_are_averaged_more_often_than_large_ones(ranks):
    def work(rank):
        averager = HierarchicalModelAverager({2: 2, 4: 4}, warmup_steps=1)
        found = []
        for _ in range(6):
            p = nn.Parameter(torch.tensor([float(rank)]))
            p.grad = torch.ones(1)
            averager.average_parameters([p])
            found.append(p.item())
        pair = [0.5, 0.5, 2.5, 2.5][rank]
        assert found == [rank, rank, pair, rank, 1.5, rank]  # step 0 is of the warm-up

    ranks(4, work)


def test_a_sharded_optimizer_goes_on_on_a_rank_without_data(ranks):
    def work(rank):
        model = DistributedDataParallel(net())
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
        with Join([model, optimizer]):
            for step in range(2 + 2 * rank):
                optimizer.zero_grad()
                model(inputs(rank, step)).square().sum().backward()
                optimizer.step()
        expected = net()
        other = torch.optim.Adam(expected.parameters(), lr=0.01)
        for step in range(4):
            other.zero_grad()
            losses = [expected(inputs(r, step)).square().sum() for r in range(2) if step < 2 + 2 * r]
            (sum(losses) / 2).backward()
            other.step()
        for p, q in zip(model.parameters(), expected.parameters(), strict=True):
            assert torch.allclose(p, q, rtol=1e-9)

    ranks(2, work)


def test_activations_are_computed_again_under_the_names_of_the_plain_model():
    pytest.importorskip("torch.utils.checkpoint")
    model, plain = net(), net()
    calls = []
    model[0].register_forward_pre_hook(lambda *_: calls.append(1))
    apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, nn.Linear))
    assert list(model.state_dict()) == list(plain.state_dict())
    model.load_state_dict(plain.state_dict())
    x, y = inputs(0, 0).requires_grad_(), inputs(0, 0).requires_grad_()
    model(x).square().sum().backward()
    plain(y).square().sum().backward()
    assert torch.equal(x.grad, y.grad)
    assert len(calls) == 2


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="Expect `start_powerSGD_iter` > 1"):
        PowerSGDState(None, start_powerSGD_iter=1)
    with pytest.raises(ValueError, match="matrix_approximation_rank must be positive, got 0"):
        PowerSGDState(None, 0)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="``period`` must be a positive"):
            PeriodicModelAverager(0)
        with pytest.raises(ValueError, match="``warmup_steps`` must be a non-negative"):
            PeriodicModelAverager(1, -1)
        with pytest.raises(ValueError, match="``period_group_size_dict`` must not be empty"):
            HierarchicalModelAverager()
        with pytest.raises(ValueError, match=r"periods must be positive and rise, got \[4, 2\]"):
            HierarchicalModelAverager({4: 1, 2: 2})
        with pytest.raises(ValueError, match=r"sizes of groups must be positive and rise, got \[2, 2\]"):
            HierarchicalModelAverager({2: 2, 4: 2})
        with pytest.raises(ValueError, match="the last group has 8 ranks, and must be the process group of 1"):
            HierarchicalModelAverager({2: 8})
        with pytest.raises(ValueError, match="``warmup_steps`` must be a non-negative"):
            HierarchicalModelAverager({2: 1}, -1)
    finally:
        dist.destroy_process_group()
