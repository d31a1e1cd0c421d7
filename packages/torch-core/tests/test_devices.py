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
