"""Models cut into stages by names of their modules, and where their forward says so."""

import pytest
import torch
from torch import nn
from torch.distributed.pipelining import Schedule1F1B, SplitPoint, pipe_split, pipeline
from torch.nn import functional as F

pytest.importorskip("torch.fx")


class Skipping(nn.Module):
    """Values of the first stage are used in the last, and a parameter is the model's own."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.scale = nn.Parameter(torch.full((4,), 2.0))

    def forward(self, x, y):
        first = torch.tanh(self.a(x))
        second = torch.relu(self.b(first)) + y
        pipe_split()
        return self.c(second + first * self.scale)


def net():
    torch.manual_seed(3)
    return Skipping().double()


def batch(step, rows=8):
    pick = torch.Generator().manual_seed(step)
    return [torch.randn(rows, n, dtype=torch.float64, generator=pick) for n in (3, 4, 2)]


def test_stages_hand_on_what_later_ones_need():
    model = net()
    x, y, _ = batch(0)
    pipe = pipeline(model, (x, y), split_spec={"b": SplitPoint.BEGINNING})
    assert pipe.num_stages == pipe.info().num_stages == 3
    assert torch.equal(pipe(x, y), model(x, y))
    names = [[name for name, _ in stage.named_parameters()] for stage in pipe.stages]
    assert names == [
        ["part.a.weight", "part.a.bias"],
        ["part.b.weight", "part.b.bias"],
        ["scale", "part.c.weight", "part.c.bias"],
    ]


def test_each_rank_trains_its_stage_as_the_whole_model_is_trained(ranks):
    def work(rank):
        whole, sgd = net(), None
        sgd = torch.optim.SGD(whole.parameters(), 0.1)
        x, y, _ = batch(0)
        pipe = pipeline(net(), (x[:2], y[:2]), split_spec={"b": SplitPoint.BEGINNING})
        stage = pipe.build_stage(rank)
        ours = torch.optim.SGD(stage.submod.parameters(), 0.1)
        plan = Schedule1F1B(stage, 4, loss_fn=F.mse_loss)
        for step in range(3):
            x, y, target = batch(step)
            sgd.zero_grad()
            F.mse_loss(whole(x, y), target).backward()
            sgd.step()
            ours.zero_grad()
            plan.step(*((x, y) if rank == 0 else ()), target=target if rank == 2 else None)
            ours.step()
        trained = dict(whole.named_parameters())
        for name, parameter in stage.submod.named_parameters():
            torch.testing.assert_close(parameter, trained[name.removeprefix("part.")])

    ranks(3, work)


@pytest.mark.parametrize(("point", "counts"), [(SplitPoint.BEGINNING, [2, 2]), (SplitPoint.END, [3, 1])])
def test_a_cut_is_before_or_behind_a_module(point, counts):
    layers = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Sequential(nn.Linear(2, 2), nn.Tanh()), nn.Linear(2, 1))
    pipe = pipeline(layers, (torch.ones(1, 2),), split_spec={"2": point})
    assert [sum(1 for _ in stage.part.children()) for stage in pipe.stages] == counts
    assert torch.equal(pipe(torch.ones(3, 2)), layers(torch.ones(3, 2)))


def test_a_cut_that_leaves_nothing_makes_no_stage():
    layers = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    spec = {"0": SplitPoint.BEGINNING, "1": SplitPoint.END}
    assert pipeline(layers, (torch.ones(1, 2),), split_spec=spec).num_stages == 1


def test_mistakes_are_told():
    layers = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    x = (torch.ones(1, 2),)
    with pytest.raises(ValueError, match="split_spec names '7', and the model has no such module"):
        pipeline(layers, x, split_spec={"7": SplitPoint.END})
    with pytest.raises(TypeError, match="must be a SplitPoint, got 'end'"):
        pipeline(layers, x, split_spec={"0": "end"})
    with pytest.raises(NotImplementedError, match="mb_kwargs"):
        pipeline(layers, x, {"scale": 2})
    with pytest.raises(ValueError, match="stage 5 of 1"):
        pipeline(layers, x).get_stage_module(5)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.a, self.b = nn.Parameter(torch.ones(2)), nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.b(self.a(x * self.w)) * self.w

    with pytest.raises(NotImplementedError, match="w of the model is used in submod_0 and submod_1"):
        pipeline(Twice(), x, split_spec={"b": SplitPoint.BEGINNING})
