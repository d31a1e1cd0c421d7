"""Layers on one rank after the other, against the same layers in one process."""

import os
import signal

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from torch.nn import functional as F


def layers():
    torch.manual_seed(2)
    return [
        nn.Sequential(nn.Linear(5, 8), nn.Tanh()).double(),
        nn.Sequential(nn.Linear(8, 8), nn.Tanh()).double(),
        nn.Linear(8, 3).double(),
    ]


def batch(step, rows=12):
    pick = torch.Generator().manual_seed(step)
    return torch.randn(rows, 5, dtype=torch.float64, generator=pick), torch.randint(3, (rows,), generator=pick)


@pytest.mark.parametrize("schedule", [ScheduleGPipe, Schedule1F1B])
@pytest.mark.parametrize("parts", [1, 2, 6])
def test_stages_learn_what_the_whole_model_learns(ranks, schedule, parts):
    def work(rank):
        whole = nn.Sequential(*layers())
        sgd = torch.optim.SGD(whole.parameters(), 0.3, momentum=0.9)
        mine = layers()[rank]
        ours = torch.optim.SGD(mine.parameters(), 0.3, momentum=0.9)
        plan = schedule(PipelineStage(mine, rank, 3), parts, loss_fn=F.cross_entropy)
        plan.eval(*([batch(7, 24)[0]] if rank == 0 else []))  # another size, and nothing recorded
        for step in range(3):
            x, y = batch(step)
            sgd.zero_grad()
            output = whole(x)
            expected = F.cross_entropy(output, y)
            expected.backward()
            sgd.step()
            ours.zero_grad()
            losses = []
            # Programs may give every rank the batch: only the first stage looks at it.
            made = plan.step(*([x] if rank == 0 or step == 2 else []), target=y if rank == 2 else None, losses=losses)
            ours.step()
            if rank == 2:
                assert torch.allclose(made, output, rtol=1e-12)
                assert len(losses) == parts
                assert torch.allclose(torch.stack(losses).mean(), expected, rtol=1e-12)
            else:
                assert made is None
                assert losses == []
            for p, q in zip(mine.parameters(), whole[rank].parameters(), strict=True):
                assert torch.allclose(p, q, rtol=1e-11, atol=1e-14)
        x, y = batch(9)
        made = plan.eval(*([x] if rank == 0 else []))
        if rank == 2:
            assert torch.allclose(made, whole(x), rtol=1e-12)
            assert not made.requires_grad

    ranks(3, work)


def test_a_stage_holds_as_many_parts_as_stages_follow(ranks):
    def most(schedule, rank):
        stage = PipelineStage(layers()[rank], rank, 3)
        held = []
        forward = stage.forward
        stage.forward = lambda *arguments: (forward(*arguments), held.append(len(stage.held)))[0]
        x, y = batch(1)
        schedule(stage, 6, loss_fn=F.cross_entropy).step(*([x] if rank == 0 else []), target=y if rank == 2 else None)
        assert not stage.held
        return max(held)

    assert ranks(3, lambda rank: most(ScheduleGPipe, rank)) == [6, 6, 6]
    assert ranks(3, lambda rank: most(Schedule1F1B, rank)) == [3, 2, 1]


class Both(nn.Module):
    """Passes on numbers and what they are about, which needs no gradient."""

    def __init__(self, last=False):
        super().__init__()
        torch.manual_seed(4)
        self.linear, self.last = nn.Linear(3, 3).double(), last

    def forward(self, x, words, scale=1.0):
        x = self.linear(x) * scale + words.unsqueeze(1)
        return (x, x * 2) if self.last else (x, words)


def test_stages_pass_on_several_tensors_and_take_arguments_by_name(ranks):
    def work(rank):
        x, words = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)), torch.arange(4)
        first, last = Both(), Both(last=True)
        a = x.clone().requires_grad_()
        expected = last(*first(a, words, scale=0.5))
        (expected[0].square().sum() + expected[1].sum()).div(2).backward()

        mine = Both(last=rank == 1)

        def loss(outputs, target):
            return outputs[0].square().sum() + outputs[1].sum()

        plan = Schedule1F1B(PipelineStage(mine, rank, 2), 2, loss_fn=loss)
        made = plan.step(x, words, scale=0.5) if rank == 0 else plan.step(target=torch.zeros(4))
        if rank == 1:
            assert all(torch.allclose(u, v, rtol=1e-12) for u, v in zip(made, expected, strict=True))
        whole = (first, last)[rank]
        assert torch.allclose(mine.linear.weight.grad, whole.linear.weight.grad, rtol=1e-10)

    ranks(2, work)


def test_a_rank_that_is_killed_ends_the_others(ranks):
    def work(rank):
        mine = layers()[rank]
        if rank == 1:
            mine[0].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
        plan = Schedule1F1B(PipelineStage(mine, rank, 3), 4, loss_fn=F.cross_entropy)
        x, y = batch(1)
        for _ in range(3):
            plan.step(*([x] if rank == 0 else []), target=y if rank == 2 else None)

    first, second, third = ranks(3, work, errors=True)
    assert second.exitcode == -signal.SIGKILL
    for result in (first, third):
        assert isinstance(result, dist.DistBackendError), result
        assert "rank 1" in str(result)


def test_what_does_not_fit_is_named(ranks):
    def work(rank):
        layer = nn.Linear(2, 2)
        with pytest.raises(ValueError, match="Stage index 2 is out of range of 2"):
            PipelineStage(layer, 2, 2)
        with pytest.raises(
            ValueError, match=f"rank {rank} of 2 has stage {rank} of as many, got stage {1 - rank} of 2"
        ):
            PipelineStage(layer, 1 - rank, 2)
        with pytest.raises(NotImplementedError, match="dw_builder is not there"):
            PipelineStage(layer, rank, 2, dw_builder=1)
        stage = PipelineStage(layer, rank, 2)
        with pytest.raises(ValueError, match="got n_microbatches=0"):
            ScheduleGPipe(stage, 0)
        plan = ScheduleGPipe(stage, 2, loss_fn=F.mse_loss)
        if rank == 0:
            with pytest.raises(ValueError, match=r"a batch of shape \(3, 2\) does not fall into 2 equal parts"):
                plan.step(torch.ones(3, 2))
        else:
            with pytest.raises(RuntimeError, match="the last stage needs a target"):
                plan.step()

    ranks(2, work)


def test_batches_are_cut_and_put_together():
    x, y = torch.arange(6).view(6, 1), torch.arange(6)
    args, kwargs = split_args_kwargs_into_chunks((x, "a"), {"y": y}, 3)
    assert [one[1] for one in args] == ["a"] * 3
    assert torch.equal(merge_chunks([one[0] for one in args]), x)
    assert torch.equal(merge_chunks([(one[0], two["y"]) for one, two in zip(args, kwargs, strict=True)])[1], y)
    with pytest.raises(NotImplementedError, match="there is no spec for another"):
        merge_chunks([x], chunk_spec=1)
    with pytest.raises(NotImplementedError, match="there are no specs for another"):
        split_args_kwargs_into_chunks((x,), {}, 2, args_chunk_spec=(1,))


def test_a_stage_whose_outputs_change_their_shape_says_so(ranks):
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x if self.calls < 2 else x[:, :1]

    def work(rank):
        plan = ScheduleGPipe(PipelineStage(Odd() if rank == 0 else nn.Identity(), rank, 2), 2)
        return plan.step(*([torch.ones(4, 2)] if rank == 0 else []))

    first, second = ranks(2, work, errors=True)
    assert "its outputs were (2, 2) of torch.float32 at first and are (2, 1) of torch.float32 now" in str(first)
    assert isinstance(second, dist.DistBackendError)
