"""Several stages a rank: orders that never wait for each other, and training by them against training in one process."""

import itertools

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    ScheduleDualPipeV,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    orders,
)
from torch.distributed.pipelining._two_backwards import TwoBackwards
from torch.distributed.pipelining.schedules import get_schedule_class
from torch.nn import functional as F

SCHEDULES = [
    ScheduleLoopedBFS, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble, ScheduleZBVZeroBubble, ScheduleDualPipeV
]  # fmt: skip
FOLDED = (ScheduleZBVZeroBubble, ScheduleDualPipeV)


def play(place, lists):
    """Let each rank do what is next in its list as soon as it can; the most parts that each held, in all its stages."""
    done, at, most = set(), [0] * len(lists), [0] * len(lists)
    last = len(place) - 1
    held = [0] * len(lists)

    def can(what, stage, part):
        if what == orders.FORWARD:
            return stage == 0 or (orders.FORWARD, stage - 1, part) in done
        if what == orders.WEIGHTS:
            return (orders.INPUTS, stage, part) in done
        back = stage == last or any((one, stage + 1, part) in done for one in (orders.BACKWARD, orders.INPUTS))
        return (orders.FORWARD, stage, part) in done and back

    while any(i < len(order) for i, order in zip(at, lists, strict=True)):
        able = [r for r, order in enumerate(lists) if at[r] < len(order) and can(*order[at[r]])]
        assert able, [order[i:][:1] for i, order in zip(at, lists, strict=True)]
        for r in able:
            step = lists[r][at[r]]
            assert step not in done
            assert place[step[1]] == r
            done.add(step)
            at[r] += 1
            held[r] += {orders.FORWARD: 1, orders.BACKWARD: -1, orders.WEIGHTS: -1}.get(step[0], 0)
            most[r] = max(most[r], held[r])
    assert held == [0] * len(lists)
    return most


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_in_every_order_something_can_always_go_on(schedule, ranks):
    for each in (2,) if schedule in FOLDED else (1, 2, 3):
        stages = ranks * each
        dual = schedule is ScheduleDualPipeV
        for parts in [2 * ranks, 5 * ranks] + ([2 * ranks + 1] if dual else [1, 2, ranks]):
            lists = [schedule._order(rank, ranks, stages, parts) for rank in range(ranks)]
            in_two = sum(what == orders.WEIGHTS for order in lists for what, _, _ in order)
            assert sum(map(len, lists)) == stages * parts * 2 + in_two
            if not dual:
                assert in_two == stages * parts * ("Bubble" in schedule.__name__)
            play(schedule._places(stages, ranks), lists)


def test_with_two_directions_a_pass_back_follows_each_pass_forward_in_the_middle():
    ranks, parts = 4, 24
    lists = [orders.dual_pipe_v(rank, ranks, 8, parts) for rank in range(ranks)]
    for rank, order in enumerate(lists):
        pairs = sum((one[0], two[0]) == (orders.FORWARD, orders.BACKWARD) for one, two in itertools.pairwise(order))
        assert pairs == 2 * (parts - 2 * ranks + rank + 1) + ranks - 1 - rank
    assert max(play(orders.folded(8, ranks), lists)) <= 2 * ranks + 1


def test_the_v_holds_about_two_parts_a_rank_and_breadth_first_all():
    ranks, parts = 4, 24
    v = [orders.zero_bubble_v(rank, ranks, 8, parts) for rank in range(ranks)]
    assert max(play(orders.folded(8, ranks), v)) <= 2 * ranks + 1
    breadth = [orders.breadth_first(rank, ranks, 8, parts) for rank in range(ranks)]
    assert play(orders.looped(8, ranks), breadth) == [2 * parts] * ranks
    turns = [orders.interleaved(rank, ranks, 8, parts) for rank in range(ranks)]
    assert play(orders.looped(8, ranks), turns) == [11, 9, 7, 5]  # those ahead, and the one that is computed


def test_the_v_keeps_its_ranks_busy():
    ranks, parts = 4, 16
    lists = [orders.zero_bubble_v(rank, ranks, 8, parts) for rank in range(ranks)]
    work = 3 * 2 * parts  # steps that each rank has to do
    done, at, clock = set(), [0] * ranks, 0
    while any(i < work for i in at):
        now = []
        for r in range(ranks):
            if at[r] < work:
                what, stage, part = lists[r][at[r]]
                needs = {
                    orders.FORWARD: [(orders.FORWARD, stage - 1, part)] if stage else [],
                    orders.INPUTS: [(orders.FORWARD, stage, part)]
                    + ([(orders.INPUTS, stage + 1, part)] if stage < 7 else []),
                    orders.WEIGHTS: [(orders.INPUTS, stage, part)],
                }[what]
                if done.issuperset(needs):
                    now.append((r, (what, stage, part)))
        for r, step in now:
            at[r] += 1
            done.add(step)
        clock += 1
    assert clock <= work + 2 * ranks  # one pass down the ranks before the last has anything to do, and the way back


class Tied(nn.Module):
    """Uses one weight twice, a norm, and a bias that stands by itself."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.linear, self.norm = nn.Linear(5, 5).double(), nn.LayerNorm(5).double()
        self.bias = nn.Parameter(torch.randn(5, dtype=torch.float64))

    def forward(self, x):
        return self.linear(self.norm(self.linear(x)).tanh()) + self.bias * 2


def batch(step, rows=16):
    pick = torch.Generator().manual_seed(step)
    return torch.randn(rows, 5, dtype=torch.float64, generator=pick), torch.randint(5, (rows,), generator=pick)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("size", "parts"), [(1, 4), (2, 2), (2, 8), (3, 3)])
def test_stages_learn_what_the_whole_model_learns(ranks, schedule, size, parts):
    rows = 24
    if schedule is ScheduleDualPipeV:
        parts = max(parts, 2 * size)

    def work(rank):
        count = 2 * size
        whole = nn.Sequential(*map(Tied, range(count)))
        sgd = torch.optim.SGD(whole.parameters(), 0.1, momentum=0.9)
        mine = {i: Tied(i) for i, r in enumerate(schedule._places(count, size)) if r == rank}
        ours = torch.optim.SGD([p for one in mine.values() for p in one.parameters()], 0.1, momentum=0.9)
        stages = [PipelineStage(one, i, count) for i, one in mine.items()]
        plan = schedule(stages, parts, loss_fn=F.cross_entropy)
        first, last = 0 in mine, count - 1 in mine
        for step in range(3):
            x, y = batch(step, rows)
            sgd.zero_grad()
            output = whole(x)
            F.cross_entropy(output, y).backward()
            sgd.step()
            ours.zero_grad()
            losses = []
            made = plan.step(*([x] if first else []), target=y if last else None, losses=losses)
            ours.step()
            assert (made is not None) == last
            if last:
                assert torch.allclose(made, output, rtol=1e-11)
                assert len(losses) == parts
            for i, one in mine.items():
                for p, q in zip(one.parameters(), whole[i].parameters(), strict=True):
                    assert torch.allclose(p, q, rtol=1e-9, atol=1e-12)
            assert not any(stage.held or stage.waiting or stage.handed for stage in stages)
        made = plan.eval(*([batch(9, rows)[0]] if first else []))
        if last:
            assert torch.allclose(made, whole(batch(9, rows)[0]), rtol=1e-11)

    ranks(size, work)


def test_two_backward_passes_compute_what_one_does_and_no_weight_in_the_first():
    net = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 1)).double()
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    y = net(x).square().sum()
    expected = torch.autograd.grad(y, [x, *net.parameters()], retain_graph=True)
    two = TwoBackwards([y], [None], [x], net.parameters())
    two.to_inputs()
    assert torch.allclose(x.grad, expected[0])
    assert all(p.grad is None for p in net.parameters())
    seen = []
    x.register_hook(lambda _: seen.append("x"))
    two.to_parameters()
    assert all(torch.allclose(p.grad, g) for p, g in zip(net.parameters(), expected[1:], strict=True))
    assert not seen  # the second pass does not go on to the input


def test_weights_that_hang_on_several_nodes_have_their_gradients_in_the_first_pass():
    net = Tied(3)
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    y = net(x).square().sum()
    expected = torch.autograd.grad(y, [x, *net.parameters()], retain_graph=True)
    two = TwoBackwards([y], [None], [x], net.parameters())
    two.to_inputs()
    assert net.linear.weight.grad is not None
    assert net.norm.weight.grad is None
    assert net.bias.grad is None
    two.to_parameters()
    assert all(torch.allclose(p.grad, g) for p, g in zip([x, *net.parameters()], expected, strict=True))


def test_what_does_not_fit_is_named(ranks):
    def work(rank):
        def stages(*numbers, count=4):
            return [PipelineStage(nn.Linear(2, 2), i, count) for i in numbers]

        with pytest.raises(ValueError, match=f"rank {rank} of 2 has stage {rank}, {rank + 2} of 4, got 0, 3"):
            ScheduleInterleaved1F1B(stages(0, 3), 2)
        with pytest.raises(ValueError, match=f"rank {rank} of 2 has stage {rank}, {3 - rank} of 4, got 0, 2"):
            ScheduleZBVZeroBubble(stages(0, 2), 2)
        with pytest.raises(ValueError, match="ScheduleZBVZeroBubble: .* 2 stages a rank, got 6 stages on 2 ranks"):
            ScheduleZBVZeroBubble(stages(0, 2, 4, count=6), 2)
        with pytest.raises(ValueError, match="ScheduleDualPipeV: .* as there are stages at least, 4, got 3"):
            ScheduleDualPipeV(stages(rank, 3 - rank), 3)
        with pytest.raises(ValueError, match="5 parts .* do not fall into 2 rounds"):
            ScheduleInterleaved1F1B(stages(rank, rank + 2), 5)
        with pytest.raises(ValueError, match="3 stages do not lie evenly on 2 ranks"):
            stages(0, count=3)
        with pytest.raises(TypeError, match="expected a list of this rank's stages"):
            ScheduleLoopedBFS(stages(0)[0], 2)
        with pytest.raises(NotImplementedError, match="the schedule's own"):
            ScheduleInterleaved1F1B(stages(rank, rank + 2), 2, use_full_backward=False)
        with pytest.raises(ValueError, match="Unknown schedule name: GPipes"):
            get_schedule_class("GPipes")
        assert get_schedule_class("zbvzerobubble") is ScheduleZBVZeroBubble

    ranks(2, work)


def test_a_rank_that_stops_ends_the_others(ranks):
    def work(rank):
        stages = [PipelineStage(Tied(i), i, 4) for i in (rank, rank + 2)]
        if rank == 1:
            stages[1].submod.bias.register_hook(lambda _: 1 / 0)
        plan = ScheduleInterleavedZeroBubble(stages, 4, loss_fn=F.cross_entropy)
        x, y = batch(1)
        for _ in range(2):
            plan.step(*([x] if rank == 0 else []), target=y if rank == 1 else None)

    first, second = ranks(2, work, errors=True)
    assert isinstance(second, ZeroDivisionError)
    assert isinstance(first, dist.DistBackendError)
