"""Modules and losses under torch.autocast."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

LOSSES = {
    "mse_loss": lambda x: F.mse_loss(x, torch.rand(2, 3)),
    "l1_loss": lambda x: F.l1_loss(x, torch.rand(2, 3)),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, torch.rand(2, 3)),
    "huber_loss": lambda x: F.huber_loss(x, torch.rand(2, 3)),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 1])),
    "nll_loss": lambda x: F.nll_loss(x, torch.tensor([0, 1])),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x, torch.rand(2, 3)),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, torch.rand(2, 3)),
    "kl_div": lambda x: F.kl_div(x, torch.rand(2, 3), reduction="batchmean"),
    "poisson_nll_loss": lambda x: F.poisson_nll_loss(x, torch.rand(2, 3)),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, torch.ones(2, 3)),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, torch.tensor([0, 1])),
    "hinge_embedding_loss": lambda x: F.hinge_embedding_loss(x, torch.ones(2, 3)),
    "margin_ranking_loss": lambda x: F.margin_ranking_loss(x, x, torch.ones(2, 3)),
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(x, x, torch.ones(2)),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x, x, x),
    "grid_sample": lambda x: F.grid_sample(x.reshape(1, 1, 2, 3), torch.rand(1, 2, 2, 2), align_corners=False),
    "max_pool3d": lambda x: F.max_pool3d(x.reshape(1, 1, 1, 2, 3), 1),
    "reflect": lambda x: F.pad(x, (1, 1), "reflect"),
}


@pytest.mark.parametrize("low", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_compute_in_float32(name, low):
    x = torch.rand(2, 3).to(low)
    torch.manual_seed(0)
    with torch.autocast("cpu", low):
        loss = LOSSES[name](x)
    torch.manual_seed(0)
    assert loss.dtype == torch.float32 and torch.equal(loss, LOSSES[name](x.float()))


def test_a_network_learns_in_lower_precision_and_keeps_float32_parameters():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(144, 16),
        nn.LayerNorm(16),
        nn.Linear(16, 2),
    )
    x, y = torch.randn(16, 1, 8, 8), torch.arange(16) % 2
    losses = []
    for _ in range(15):
        net.zero_grad()
        with torch.autocast("cpu"):
            out = net(x)
            loss = F.cross_entropy(out, y)
        assert out.dtype == torch.bfloat16 and loss.dtype == torch.float32
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                assert p.dtype == p.grad.dtype == torch.float32
                p -= 0.1 * p.grad
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_attention_gives_the_lower_precision():
    q = torch.randn(1, 2, 3, 4, requires_grad=True)
    with torch.autocast("cpu"):
        out = F.scaled_dot_product_attention(q, q, q)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert q.grad.dtype == torch.float32


@pytest.mark.parametrize(
    ("make", "dtype"), [(nn.RNN, torch.bfloat16), (nn.GRU, torch.float32), (nn.LSTM, torch.bfloat16)]
)
def test_recurrent_layers_give_the_dtype_that_pytorch_gives(make, dtype):
    layer = make(3, 4, num_layers=2)
    with torch.autocast("cpu"):
        out, _ = layer(torch.randn(5, 2, 3))
    assert out.dtype == dtype
    out.float().sum().backward()
    assert layer.weight_ih_l0.grad.dtype == torch.float32
