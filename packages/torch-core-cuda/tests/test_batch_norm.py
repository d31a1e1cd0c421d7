"""Batch, group and instance normalisation: values, running statistics and derivatives beside the CPU's."""

import copy

import pytest
import torch
from test_elementwise import numbers
from test_products import close

nn = pytest.importorskip("torch.nn")

LAYERS = {
    "batch": lambda: nn.BatchNorm2d(6),
    "batch without parameters": lambda: nn.BatchNorm2d(6, affine=False, momentum=None),
    "batch without statistics": lambda: nn.BatchNorm2d(6, track_running_stats=False),
    "group": lambda: nn.GroupNorm(3, 6),
    "instance": lambda: nn.InstanceNorm2d(6, affine=True, track_running_stats=True),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_trains_and_evaluates_as_on_the_cpu(name, dtype):
    here = LAYERS[name]().to(dtype)
    there = copy.deepcopy(here).cuda()
    grad = numbers((4, 6, 5, 7), dtype, 9)
    for step in range(3):
        x = numbers((4, 6, 5, 7), dtype, step).requires_grad_()
        y = x.detach().cuda().requires_grad_()
        if step == 2:
            here.eval(), there.eval()
        a, b = here(x), there(y)
        close(b.detach(), a.detach())
        a.backward(grad), b.backward(grad.cuda())
        close(y.grad, x.grad)
    for p, q in zip(here.parameters(), there.parameters(), strict=True):
        close(q.grad, p.grad)
    for p, q in zip(here.buffers(), there.buffers(), strict=True):
        close(q, p)


def test_columns_of_a_matrix():
    x = numbers((300, 5), torch.float32)
    close(nn.BatchNorm1d(5).cuda()(x.cuda()).detach(), nn.BatchNorm1d(5)(x).detach())
