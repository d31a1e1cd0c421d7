"""Tensors on the CPU and on the Meta device in one call: an error, whatever the way into the operator."""

import pytest
import torch

X = torch.arange(12.0).reshape(3, 4)
META = torch.empty(3, 4, device="meta")
PLACES = torch.zeros(3, dtype=torch.int64, device="meta")


@pytest.mark.parametrize(
    "call",
    [
        lambda: X + META,
        lambda: X.clone().mul_(META),
        lambda: X @ META.t(),
        lambda: torch.matmul(META, X.t()),
        lambda: torch.mm(X, META.t()),
        lambda: torch.cat([X, META]),
        lambda: torch.quantile(X, torch.empty(2, device="meta")),
        lambda: X.index_select(0, PLACES),
        lambda: X[PLACES],
        lambda: X.clone().__setitem__(META > 0, 1.0),
        lambda: torch.where(X > 0, X, META),
        lambda: X.masked_fill(X > 0, META[0, 0]),
        lambda: torch.gather(X, 0, torch.zeros(1, 4, dtype=torch.int64, device="meta")),
        lambda: torch.baddbmm(X[None], X[None], META.t()[None]),
    ],
)
def test_a_mixture_is_refused(call):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        call()


def test_out_of_another_device_is_refused():
    with pytest.raises(RuntimeError, match="mm: Expected out tensor to be on cpu"):
        torch.mm(X, X.t(), out=torch.empty(3, 3, device="meta"))


def test_what_may_be_mixed():
    assert (META * torch.tensor(2.0)).is_meta and (META * 2).is_meta
    assert META[torch.zeros(2, dtype=torch.int64)].shape == (2, 4)
    assert META.copy_(X).is_meta
    assert X.type_as(META).device.type in ("cpu", "meta")


@pytest.mark.parametrize(
    "name", ["cuda0", "cuda 0", ":0", "cuda:", "cuda:x", "cuda:-1", "cuda:01", "cuda:0:1", "cpu:1x"]
)
def test_a_device_is_a_name_or_a_name_and_a_number(name):
    with pytest.raises(RuntimeError, match=f"Invalid device string: '{name}'"):
        torch.device(name)


def test_a_name_of_nothing_is_refused():
    with pytest.raises(RuntimeError, match="Device string must not be empty"):
        torch.device("")
    with pytest.raises(RuntimeError, match=r"Expected one of .* device type at start of device string: moon"):
        torch.device("moon")


def test_numbers_of_devices_are_found_in_what_libraries_give():
    from torch.cuda._utils import _get_device_index

    assert [_get_device_index(d) for d in (2, "cuda:1", torch.device("cuda:3"), torch.cuda.device(1))] == [2, 1, 3, 1]
    assert _get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        _get_device_index(torch.device("cpu"), optional=True)
    with pytest.raises(RuntimeError, match="Invalid device string: 'cuda0'"):
        _get_device_index("cuda0", optional=True)
