"""Programs at random (random_programs.py): what the device gives is what the CPU gives."""

import pytest
import torch
from random_programs import complaints
from torch._cuda import _native

SEEDS = 60


def calls():
    """All, where the parts are there that layers and gradients need."""
    try:
        from torch import autograd, nn  # noqa: F401
    except ImportError:
        return "of the core"
    return "all"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("order, lazy", [(0, False), (3, False), (7, True)])
def test_programs_at_random_give_what_the_cpu_gives(order, lazy):
    _native.configure(order=order, lazy=lazy)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        begin = SEEDS * (order + lazy)
        assert [wrong for seed in range(begin, begin + SEEDS) for wrong in complaints(seed, calls=calls())] == []
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("bias", [False, True])
def test_a_transposed_convolution_of_nothing_gives_its_bias(bias):
    nn = pytest.importorskip("torch.nn")
    given = torch.ones(2, 3, 0), torch.ones(3, 2, 3), torch.tensor([1.0, 2.0]) if bias else None
    x, w, b = (None if t is None else t.cuda().requires_grad_() for t in given)
    y = nn.functional.conv_transpose1d(x, w, b, stride=2)
    assert y.tolist() == ([[[1.0], [2.0]]] * 2 if bias else [[[0.0], [0.0]]] * 2)
    y.sum().backward()
    assert x.grad.shape == (2, 3, 0) and not w.grad.any()
