"""Losses: values and derivatives beside the CPU's; a class that does not exist is told at the next wait."""

import pytest
import torch
from test_elementwise import numbers
from test_products import close

F = pytest.importorskip("torch.nn.functional")


def both(loss, *tensors):
    """The loss and the derivative by its first tensor, on the CPU and on CUDA."""
    x = tensors[0].clone().requires_grad_()
    y = tensors[0].cuda().requires_grad_()
    here, there = loss(x, *tensors[1:]), loss(y, *(t.cuda() for t in tensors[1:]))
    close(there.detach(), here.detach())
    here.sum().backward()
    there.sum().backward()
    close(y.grad, x.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(7,), (5, 7), (2000, 3), (3, 7, 2, 4)])
def test_nll_loss(shape, reduction, dtype):
    x = numbers(shape, dtype)
    classes = shape[0] if len(shape) == 1 else shape[1]
    target = torch.randint(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ())
    weight = numbers((classes,), dtype, 2).abs() + 1
    both(lambda x, t, w: F.nll_loss(x, t, w, reduction=reduction, ignore_index=1), x, target, weight)
    both(lambda x, t: F.nll_loss(x, t, reduction=reduction), x, target)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_with_and_without_smoothing(reduction):
    x, target = numbers((6, 5), torch.float32), torch.tensor([0, 4, 2, 2, -100, 1])
    for smoothing in (0.0, 0.1):
        both(lambda x, t: F.cross_entropy(x, t, reduction=reduction, label_smoothing=smoothing), x, target)
    both(lambda x, t: F.cross_entropy(x, t, reduction=reduction), x, numbers((6, 5), torch.float32, 1).softmax(1))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(
    "loss",
    [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy,
     F.binary_cross_entropy_with_logits, F.soft_margin_loss, F.kl_div, F.poisson_nll_loss],
)  # fmt: skip
def test_losses_of_two_tensors(loss, reduction):
    x, y = numbers((4, 6), torch.float32).sigmoid(), numbers((4, 6), torch.float32, 1).sigmoid()
    both(lambda x, y: loss(x, y, reduction=reduction), x, y)


def test_targets_of_ctc_may_be_on_the_cpu_as_cudnn_has_them():
    scores, targets = torch.randn(9, 2, 4).log_softmax(2), torch.tensor([1, 2, 3, 1], dtype=torch.int32)
    expected = F.ctc_loss(scores, targets, (9, 7), (3, 1))
    close(F.ctc_loss(scores.cuda(), targets, (9, 7), (3, 1)), expected)
    with pytest.raises(RuntimeError, match="same device"):
        F.ctc_loss(scores.cuda(), targets.long(), (9, 7), (3, 1))


def test_a_class_that_does_not_exist_is_told():
    x, target = torch.zeros(2, 3, device="cuda"), torch.tensor([0, 3], device="cuda")
    loss = F.nll_loss(x, target)
    with pytest.raises(IndexError, match="nll_loss: index 3 is out of bounds for dimension 1 with size 3"):
        loss.item()
    assert F.nll_loss(x, target - 1, ignore_index=-1).item() == 0
