"""Modules on two devices of one process: DataParallel and the functions that it is made of."""

import textwrap

import pytest
from test_devices import run

HEAD = """
import torch
from torch import cuda, nn
from torch.nn import parallel
torch.manual_seed(0)
"""


def said(program: str, settings="devices=2,lazy") -> list[str]:
    pytest.importorskip("torch.nn")
    return run(HEAD + textwrap.dedent(program), settings).splitlines()


def test_gradients_are_those_of_one_device():
    lines = said(
        """
        model, x = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).cuda(), torch.randn(6, 4).cuda()
        model(x).square().sum().backward()
        wanted = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        y = nn.DataParallel(model)(x)
        y.square().sum().backward()
        print(y.device, all(torch.allclose(p.grad, g, atol=1e-6) for p, g in zip(model.parameters(), wanted)))
        small = parallel.data_parallel(model, x[:1], (0, 1), output_device=1)
        print(small.shape, small.device)
        """
    )
    assert lines == ["cuda:0 True", "torch.Size([1, 2]) cuda:1"]


def test_devices_are_named_by_numbers_as_programs_compute_with_them():
    lines = said(
        """
        there = nn.DataParallel(nn.Linear(2, 2).cuda(), ["cuda:0", torch.device("cuda", 1)], "cuda:1")
        print(there.device_ids, there.output_device, there(torch.ones(2, 2).cuda()).device, nn.DataParallel(there.module, ["cuda"]).device_ids)
        try:
            nn.DataParallel(there.module, ["cpu"])
        except ValueError as error:
            print(error)
        """
    )
    assert lines == [
        "[0, 1] 1 cuda:1 [0]",
        "DataParallel: expected CUDA devices in device_ids and output_device, got cpu",
    ]


def test_a_replica_runs_on_its_device_with_autocast_and_without_gradients_as_here():
    lines = said(
        """
        class Where(nn.Module):
            def forward(self, x, other=None):
                made = torch.zeros(1, device="cuda")
                return made + cuda.current_device() + 10 * torch.is_autocast_enabled("cuda") + 100 * torch.is_grad_enabled()

        x = torch.zeros(2, 1).cuda()
        print(nn.DataParallel(Where())(x).tolist())
        with torch.autocast("cuda"), torch.no_grad():
            print(nn.DataParallel(Where())(x, other={"y": x}).tolist())
        """
    )
    assert lines == ["[100.0, 101.0]", "[10.0, 11.0]"]


def test_nested_inputs_and_outputs_are_cut_and_joined():
    lines = said(
        """
        from collections import OrderedDict, namedtuple
        Pair = namedtuple("Pair", "a b")

        class Nested(nn.Module):
            def forward(self, x, k=None):
                return OrderedDict([("a", [x]), ("b", (x, {"c": x * 2}))])

        x = torch.arange(4.0).view(4, 1).cuda()
        out = nn.DataParallel(Nested())(x, k={"y": x})
        print(out["a"][0].flatten().tolist(), out["b"][1]["c"].device)
        parts = parallel.scatter(Pair(x, x[:, :0]), (0, 1))
        print(type(parts[1]).__name__, parts[1].a.device, parallel.gather(parts, 1).a.device)
        print(parallel.gather((torch.tensor(1.0, device="cuda:0"), torch.tensor(2.0, device="cuda:1")), "cpu").tolist())
        a = torch.ones(2, 2, device="cuda:0", requires_grad=True)
        b = torch.ones(3, 2, device="cuda:1", requires_grad=True)
        joined = parallel.gather((a, b), 1)
        (joined * torch.arange(5.0, device="cuda:1")[:, None]).sum().backward()
        print(a.grad.device, b.grad[:, 0].tolist())
        """
    )
    assert lines == ["[0.0, 1.0, 2.0, 3.0] cuda:0", "Pair cuda:1 cuda:1", "[1.0, 2.0]", "cuda:0 [2.0, 3.0, 4.0]"]


def test_parameters_of_two_devices_are_clipped_and_stepped_together():
    lines = said(
        """
        ps = [nn.Parameter(torch.ones(3, device=f"cuda:{i}")) for i in range(2)]
        optimizer = torch.optim.Adam(ps, lr=0.1)
        (ps[0].sum().cuda(1) + 2 * ps[1].sum()).backward()
        print(round(nn.utils.clip_grad_norm_(ps, 1.0).item() ** 2, 4), [p.grad.device.index for p in ps])
        optimizer.step()
        print([round(p[0].item(), 4) for p in ps])
        try:
            ps[0].grad = torch.zeros(3, device="cuda:1")
        except RuntimeError as error:
            print(error)
        """
    )
    assert lines[:2] == ["15.0 [0, 1]", "[0.9, 0.9]"]
    assert lines[2].startswith("assigned grad has data located on a different device: the tensor is on cuda:0")


def test_statistics_of_batches_move_on_the_first_device():
    lines = said(
        """
        norm = nn.BatchNorm1d(3).cuda()
        nn.DataParallel(norm)(torch.randn(8, 3).cuda() + 5)
        print(bool((norm.running_mean > 0.1).all()), norm.num_batches_tracked.item())
        """
    )
    assert lines == ["True 1"]


def test_an_error_says_in_which_replica_it_was_raised():
    lines = said(
        """
        class Fails(nn.Module):
            def __init__(self, error):
                super().__init__()
                self.error = error

            def forward(self, x):
                if x.get_device() == 1:
                    raise self.error
                return x

        class Particular(Exception):
            def __init__(self, *, code):
                super().__init__(f"code {code}")

        for error in (ValueError("too small"), Particular(code=3)):
            try:
                nn.DataParallel(Fails(error))(torch.ones(2, 2).cuda())
            except Exception as raised:
                print(type(raised).__name__, raised, raised.__cause__ is error)
        """
    )
    assert lines == [
        "ValueError Caught ValueError in replica 1 on device 1: too small True",
        "Particular code 3 False",
    ]
