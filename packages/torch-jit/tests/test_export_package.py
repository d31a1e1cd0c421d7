"""Exported programs as packages that are called: ``torch._inductor.aoti_compile_and_package`` and ``aoti_load_package``."""

import json

import pytest
import torch
from torch import nn

inductor = torch._inductor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 3), nn.BatchNorm1d(3)

    def forward(self, x, pair, scale=2):
        return {"y": self.norm(self.linear(x)) * scale, "sum": pair[0] + pair[1]}


def exported(net, batch=None):
    x, pair = torch.randn(5, 4), (torch.ones(2), torch.arange(2.0))
    shapes = {"x": {0: batch}, "pair": (None, None), "scale": None} if batch else None
    return torch.export.export(net, (x, pair), {"scale": 3}, dynamic_shapes=shapes)


def test_a_package_gives_what_the_module_gives(tmp_path):
    net = Net().eval()
    path = inductor.aoti_compile_and_package(
        exported(net, torch.export.Dim("batch", min=2)), package_path=str(tmp_path / "net.pt2")
    )
    assert path == str(tmp_path / "net.pt2")
    run = inductor.aoti_load_package(path)
    x, pair = torch.randn(7, 4), (torch.full((2,), 5.0), torch.ones(2))
    found, wanted = run(x, pair, scale=3), net(x, pair, scale=3)
    assert list(found) == ["y", "sum"] and not found["y"].requires_grad
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    assert torch.export.load(path).module()(x, pair, scale=3)["y"].shape == (7, 3)


def test_a_package_without_a_path_is_a_temporary_file():
    path = inductor.aoti_compile_and_package(torch.export.export(nn.Linear(2, 1), (torch.ones(3, 2),)))
    assert path.endswith(".pt2") and inductor.aoti_load_package(path)(torch.ones(3, 2)).shape == (3, 1)


def test_buffers_that_the_program_changes_stay_changed(tmp_path):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count += 1
            return x + self.count

    program = torch.export.export(Counts(), (torch.ones(1),))
    run = inductor.aoti_load_package(inductor.aoti_compile_and_package(program, package_path=tmp_path / "a.pt2"))
    assert [run(torch.ones(1)).item() for _ in range(3)] == [2, 3, 4]
    run.load_constants({"count": torch.full((1,), 10.0)}, check_full_update=True)
    assert run(torch.ones(1)).item() == 12
    assert run.get_constant_fqns() == ["count"]


def test_constants_are_copied_or_shared_and_looked_at_first():
    run = inductor.aoti_load_package(
        inductor.aoti_compile_and_package(torch.export.export(nn.Linear(2, 1), (torch.ones(3, 2),)))
    )
    weight, bias = torch.ones(1, 2), torch.zeros(1)
    run.load_constants({"weight": weight, "bias": bias}, check_full_update=True)
    assert run(torch.ones(3, 2)).tolist() == [[2.0]] * 3
    weight.fill_(7)
    assert run(torch.ones(3, 2)).tolist() == [[2.0]] * 3
    run.load_constants({"weight": weight}, check_full_update=False, user_managed=True)
    weight.fill_(9)
    assert run(torch.ones(3, 2)).tolist() == [[18.0]] * 3
    for wrong, full, text in (
        ({"weight": weight}, True, "bias missing"),
        ({"weight": weight, "gain": weight}, False, "no constant 'gain'; there are weight, bias"),
        ({"bias": bias, "weight": weight.T}, True, r"weight has shape \(1, 2\)"),
        ({"bias": bias.double(), "weight": weight}, True, "bias has shape .* and dtype torch.float32, got"),
    ):
        with pytest.raises(RuntimeError, match=text):
            run.load_constants(wrong, check_full_update=full)
    with pytest.raises(TypeError, match="load_constants: bias: expected a tensor, got list"):
        run.load_constants({"weight": weight * 2, "bias": [0.0]}, check_full_update=True)
    assert run(torch.ones(3, 2)).tolist() == [[18.0]] * 3


def test_what_is_no_package_or_cannot_be_one_is_refused(tmp_path):
    program = torch.export.export(nn.Linear(2, 1), (torch.ones(3, 2),))
    with pytest.raises(ValueError, match="expected an ExportedProgram, got Linear"):
        inductor.aoti_compile_and_package(nn.Linear(2, 1))
    with pytest.raises(ValueError, match=r"ends with \.pt2, got '.*net\.so'"):
        inductor.aoti_compile_and_package(program, package_path=tmp_path / "net.so")
    (tmp_path / "bad.pt2").write_bytes(b"no package")
    with pytest.raises(RuntimeError, match="bad.pt2"):
        inductor.aoti_load_package(tmp_path / "bad.pt2")
    run = inductor.aoti_load_package(inductor.aoti_compile_and_package(program))
    for wrong, text in (
        ((torch.ones(4, 2),), r"input.size\(\)\[0\] == 3, got 4"),
        ((torch.ones(3, 2, dtype=torch.float64),), "float32 with 2 dims, got torch.float64"),
        ((), "got 0 by position"),
    ):
        with pytest.raises((RuntimeError, ValueError, AssertionError), match=text):
            run(*wrong)


def test_a_program_that_calls_functions_is_refused_before_a_file_is_made(tmp_path, monkeypatch):
    class Either(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    program = torch.export.export(Either(), (torch.ones(2),))
    with pytest.raises(NotImplementedError, match="aoti_compile_and_package: .*; torch.export.save keeps it"):
        inductor.aoti_compile_and_package(program, package_path=tmp_path / "either.pt2")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(NotImplementedError, match="torch.export.save keeps it"):
        inductor.aoti_compile_and_package(program)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("args", [[{"node": "input"}, 2**70], [{"node": "input"}, {"float": "0x1p0"}]])
def test_a_package_that_calls_operators_with_other_things_is_refused(args, tmp_path):
    class Rows(torch.nn.Module):
        def forward(self, input):
            return torch.sum(input, [0])

    path = torch._inductor.aoti_compile_and_package(
        torch.export.export(Rows(), (torch.ones(3, 2),)), package_path=str(tmp_path / "rows.pt2")
    )
    content = torch.load(path)
    text = json.loads(content["exported program"])
    next(n for n in text["nodes"] if n["op"] == "call_function")["args"] = args
    torch.save({**content, "exported program": json.dumps(text)}, path)
    with pytest.raises(RuntimeError, match=r"the program in the (package|file) is broken|[Ee]xpected"):
        torch._inductor.aoti_load_package(path)
