"""Every operator on a device that has memory nobody can read and no kernels: it works there or says what it lacks."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from operator_samples import INFO, name_of

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def outcomes():
    """By row, what became of its calls in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "nowhere.py")], capture_output=True, text=True, timeout=300
    )
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    assert done.returncode == 0, f"{last!r} ended the process ({done.returncode}): {done.stderr[-2000:]}"
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        name, _, outcome = line.partition(" ")
        found[name].append(outcome)
    return found


def test_no_operator_touches_the_memory_or_fails_otherwise(outcomes):
    wrong = {
        name: o for name, all_of_it in outcomes.items() for o in all_of_it if o not in ("runs", "lacks", "refuses")
    }
    assert not wrong
    assert {name for name, all_of_it in outcomes.items() if "refuses" in all_of_it} <= {"bucketize", "isin"}


def test_nearly_every_row_was_called(outcomes):
    missing = {name_of(s) for s in INFO} - set(outcomes)
    assert len(missing) < 32, missing


def test_views_and_factories_run(outcomes):
    views = {name_of(s) for s, info in INFO.items() if info["view"]} & set(outcomes)
    views -= {"narrow", "tensor_split"}  # they may be told by a tensor where to cut
    assert len(views) > 25
    for name in [
        *views,
        "empty",
        "zeros",
        "ones",
        "full",
        "arange",
        "zeros_like",
        "empty_like",
        "new_ones",
    ]:
        assert set(outcomes[name]) == {"runs"}, name


def test_what_computes_lacks_its_kernel(outcomes):
    for name in ("add", "exp", "softmax", "sum", "mm", "convolution", "sort", "gather", "cumsum", "where"):
        assert set(outcomes[name]) == {"lacks"}, name


SURFACE = """
import pytest, torch, nowhere
nowhere.register()
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device="nowhere")
assert str(x.device) == "nowhere:0" and x.device == torch.device("nowhere", 0) and x.device.type == "nowhere"
assert x.shape == (2, 2) and not x.is_cuda and not x.is_meta and not x.is_cpu and x.get_device() == 0
assert x.t().untyped_storage().nbytes() == 16 and x[0].shape == (2,) and x[:, None].device == x.device
assert torch.zeros(3, device="nowhere").device == torch.empty_like(x).device == x.new_ones(2).device == x.device
x.zero_(), x.fill_(2), x.copy_(torch.ones(2, 2)), x.resize_(4, 4)
unreadable = "the backend 'nowhere' cannot read memory of nowhere:0"
for read in (lambda: repr(x), lambda: x.tolist(), lambda: x.cpu(), lambda: x.to("cpu"), lambda: x[0, 0].item(),
             lambda: bool(x[0, 0]), lambda: float(x[0, 0])):
    with pytest.raises(NotImplementedError, match=unreadable):
        read()
with pytest.raises(TypeError, match="can.t convert nowhere:0 device type tensor to numpy"):
    x.numpy()
with pytest.raises(NotImplementedError, match="add: no kernel for nowhere tensors; .* move the tensors with"):
    x + 1
with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
    x @ torch.ones(4, 4)
with pytest.raises(RuntimeError, match="mm: Expected out tensor to be on cpu|no kernel"):
    torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=torch.empty(2, 2, device="nowhere"))
assert torch.Generator(device="nowhere").device.type == "nowhere"
with torch.device("nowhere"):
    assert torch.ones(2).device == x.device
"""


def test_a_tensor_there_is_a_tensor_whose_values_cannot_be_read():
    done = subprocess.run([sys.executable, "-c", SURFACE], capture_output=True, text=True, timeout=120, cwd=HERE)
    assert done.returncode == 0, done.stderr[-3000:]
