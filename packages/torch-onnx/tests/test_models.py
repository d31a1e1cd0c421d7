"""Models of many kinds: their files give what they give."""

import math

import pytest
import torch
from agreement import agree
from torch import nn
from torch.nn import functional as F


def images(n=2, c=3, h=16, w=16):
    return torch.randn(n, c, h, w)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.Conv2d(8, 8, 3, 1, 1, bias=False)
        self.na, self.nb, self.short = nn.BatchNorm2d(8), nn.BatchNorm2d(8), nn.Conv2d(3, 8, 1, 2)
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        y = self.nb(self.b(F.relu(self.na(self.a(x)), inplace=True)))
        y += self.short(x)
        return self.out(torch.flatten(F.adaptive_avg_pool2d(F.relu_(y), 1), 1))


class Separable(nn.Module):
    def __init__(self):
        super().__init__()
        self.deep, self.point = nn.Conv2d(4, 4, 3, padding="same", groups=4, dilation=2), nn.Conv2d(4, 6, 1)
        self.squeeze, self.excite = nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        y = F.hardswish(self.point(F.relu6(self.deep(x))))
        gate = torch.sigmoid(self.excite(F.silu(self.squeeze(y.mean((2, 3))))))
        return y * gate[:, :, None, None]


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.walk = kind(5, 7, **options)

    def forward(self, x):
        return self.walk(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")

    def forward(self, x, padding):
        return self.layer(x, src_key_padding_mask=padding)


class Decoder(nn.Module):
    """A small GPT."""

    def __init__(self, words=11, width=8, heads=2, length=12):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.one, self.two, self.last = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, ids):
        b, t = ids.size()
        x = self.words(ids) + self.places(torch.arange(t, device=ids.device))
        q, k, v = (
            part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.one(x)).split(x.size(2), dim=2)
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        x = x + self.join((scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, t, -1))
        x = x + self.mlp(self.two(x))
        return self.last(x) @ self.words.weight.T


class Rotary(nn.Module):
    """Attention with positions as rotations, root mean square norms and a gated MLP."""

    def __init__(self, width=8):
        super().__init__()
        self.norm, self.qkv, self.up, self.down = (
            nn.RMSNorm(width),
            nn.Linear(width, 24),
            nn.Linear(width, 32),
            nn.Linear(16, width),
        )
        self.register_buffer("speeds", 10000.0 ** (-torch.arange(0, 4, 2) / 4), persistent=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        angles = torch.outer(torch.arange(t, dtype=torch.float32), self.speeds)
        angles = torch.cat([angles, angles], -1)
        q, k = (y * angles.cos() + torch.cat([-y[..., 2:], y[..., :2]], -1) * angles.sin() for y in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(b, t, -1)
        gate, value = self.up(x).chunk(2, -1)
        return x + self.down(F.silu(gate) * value)


class Auto(nn.Module):
    """A variational autoencoder."""

    def __init__(self):
        super().__init__()
        self.narrow, self.mean, self.spread = nn.Linear(16, 8), nn.Linear(8, 2), nn.Linear(8, 2)
        self.widen = nn.Sequential(nn.Linear(2, 8), nn.ELU(), nn.Linear(8, 16), nn.Sigmoid())

    def forward(self, x, noise):
        h = torch.tanh(self.narrow(x))
        mean, spread = self.mean(h), self.spread(h)
        z = torch.addcmul(mean, noise, torch.exp(0.5 * spread))
        kl = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp(), dim=1)
        return {"x": self.widen(z), "kl": kl, "mean": mean}


class UNet(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode = mode
        self.down, self.deep, self.up = nn.Conv2d(3, 4, 3, 1, 1), nn.Conv2d(4, 8, 3, 1, 1), nn.Conv2d(12, 2, 3, 1, 1)
        self.back = nn.ConvTranspose2d(8, 8, 2, 2)

    def forward(self, x):
        a = F.leaky_relu(self.down(x), 0.2)
        b = F.mish(self.deep(F.max_pool2d(a, 2)))
        b = self.back(b) if self.mode == "transposed" else F.interpolate(b, size=a.shape[2:], mode=self.mode)
        return self.up(torch.cat([a, b], 1))


class Bags(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 4, mode=mode)
        self.out = nn.Linear(4, 2)

    def forward(self, ids):
        return F.log_softmax(self.out(self.bag(ids)), 1)


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.group, self.one, self.layer = (
            nn.GroupNorm(2, 4),
            nn.InstanceNorm2d(4, affine=True),
            nn.LayerNorm([4, 5, 6]),
        )
        self.slope = nn.PReLU(4)

    def forward(self, x):
        return self.slope(self.group(x)) + self.one(x) * self.layer(x) + F.normalize(x, dim=1)


class Masked(nn.Module):
    """Pooling over the steps that are there."""

    def __init__(self):
        super().__init__()
        self.project = nn.utils.parametrizations.weight_norm(nn.Linear(6, 4))

    def forward(self, x, lengths):
        there = torch.arange(x.shape[1])[None, :] < lengths[:, None]
        y = self.project(x)
        mean = (y * there[..., None]).sum(1) / there.sum(1, keepdim=True).clamp(min=1)
        top = y.masked_fill(~there[..., None], -torch.inf).amax(1)
        return torch.cat([mean, top], -1), there.any(0)


class Reduced(nn.Module):
    def forward(self, x):
        values, places = x.max(1)
        return (
            x.sum(), x.mean(0), x.std(1), x.var((0, 1), unbiased=False), x.norm(dim=1), x.norm(p=1), values, places, x.argmin(),
            x.logsumexp(1), x.prod(1), x.cumsum(1), (x > 0).any(1), (x > -9).all(), x.median(1).values, torch.var_mean(x, 0),
            x.abs().amax((0, 1)), x.count_nonzero(0), x.aminmax(),
        )  # fmt: skip


class Indexed(nn.Module):
    def forward(self, x, i):
        y = torch.zeros(4, 5).scatter(1, i[:, :5] % 5, x[:, :5])
        z = x.clone()
        z[:, 1:3] = 7.0
        z[0] += 1
        z[i[0], i[1]] = -1.0
        z[z > 1.5] = 1.5
        return (
            y, x.gather(1, i), x[i[:, 0]], x[:, i[0, :2]], x[i[0, 0], 2:], x[..., None, ::2], x.index_select(0, i[1]), z,
            x[[0, 2], [1, 1]], torch.zeros(5, 6).index_add(0, i[2, :4], x), x.take(i), torch.where(x > 0, x, i), x.flip(1).roll(2, 1),
            x.tril(-1), x.diagonal(), F.one_hot(i, 6), x.unfold(1, 2, 3), x.select(1, -1), x.masked_select(x > 0), (x > 0).nonzero(),
        )  # fmt: skip


class Sorted(nn.Module):
    def forward(self, x):
        values, places = x.topk(3, dim=1)
        ordered, order = x.sort(0, descending=True)
        return values, places, ordered, order, x.argsort(1), x.kthvalue(2, 1), torch.unique((x * 2).round())


class Einsum(nn.Module):
    def forward(self, x, y):
        return (
            torch.einsum("bij,bjk->bik", x, y), torch.einsum("bij,bij->b", x, x), torch.tensordot(x, y, ([2], [1])), x @ y,
            torch.baddbmm(x @ y, x, y, beta=0.5, alpha=2), x[0].outer(x[0]) if x.dim() == 1 else torch.outer(x[0, 0], y[0, 0]),
        )  # fmt: skip


class Padded(nn.Module):
    def forward(self, x):
        a, b = F.pad(x, (1, 2), value=3.0), F.pad(x, (1, 2, 0, 1), mode="reflect")
        return (
            a,
            b,
            F.pad(x, (1, 1, 2, 0), mode="replicate"),
            F.pad(x, (2, 1, 1, 1), mode="circular"),
            F.pad(x, (-1, 2, 0, -2)),
        )


class Pools(nn.Module):
    def forward(self, x):
        return (
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.max_pool2d(x, 2, return_indices=True), F.avg_pool2d(x, 3, 2, 1),
            F.avg_pool2d(x, 2, count_include_pad=False), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x, (4, 2)),
            F.max_pool1d(x[0], 2), F.avg_pool3d(x[None], 2), F.lp_pool2d(x.abs(), 2, 2),
        )  # fmt: skip


class Losses(nn.Module):
    def forward(self, x, target, y):
        return (
            F.cross_entropy(x, target), F.cross_entropy(x, target, label_smoothing=0.1), F.mse_loss(x, y), F.l1_loss(x, y),
            F.smooth_l1_loss(x, y), F.binary_cross_entropy_with_logits(x, (y > 0).float()), F.kl_div(x, y.softmax(1), reduction="batchmean"),
            F.nll_loss(x, target, reduction="none"),
        )  # fmt: skip


MODELS = {
    "mlp": (
        nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(), nn.Linear(8, 3), nn.Softmax(1)),
        (torch.randn(5, 4),),
    ),
    "convnet": (
        nn.Sequential(
            nn.Conv2d(3, 4, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3),
            nn.Softplus(),
            nn.Flatten(),
            nn.Linear(96, 3),
        ),
        (images(),),
    ),
    "conv1d": (
        nn.Sequential(nn.Conv1d(4, 6, 3, stride=2, padding=1), nn.GLU(1), nn.ConvTranspose1d(3, 2, 3, 2, 1, 1)),
        (torch.randn(2, 4, 9),),
    ),
    "conv3d": (
        nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.Hardsigmoid(), nn.AvgPool3d(2)),
        (torch.randn(1, 2, 4, 6, 4),),
    ),
    "residual": (Residual(), (images(),)),
    "separable": (Separable(), (images(c=4),)),
    "lstm": (Recurrent(nn.LSTM, num_layers=2, bidirectional=True), (torch.randn(6, 2, 5),)),
    "gru": (Recurrent(nn.GRU, batch_first=True), (torch.randn(2, 6, 5),)),
    "rnn": (Recurrent(nn.RNN, nonlinearity="relu", bias=False), (torch.randn(6, 2, 5),)),
    "transformer": (Attention(), (torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2]))),
    "gpt": (Decoder(), (torch.randint(0, 11, (2, 6)),)),
    "rotary": (Rotary(), (torch.randn(2, 5, 8),)),
    "vae": (Auto(), (torch.randn(3, 16), torch.randn(3, 2))),
    **{f"unet {mode}": (UNet(mode), (images(1),)) for mode in ("nearest", "bilinear", "bicubic", "transposed")},
    **{f"bags {mode}": (Bags(mode), (torch.randint(0, 9, (3, 4)),)) for mode in ("sum", "mean", "max")},
    "norms": (Norms(), (torch.randn(2, 4, 5, 6),)),
    "masked": (Masked(), (torch.randn(3, 5, 6), torch.tensor([5, 2, 1]))),
    "reduced": (Reduced(), (torch.randn(4, 5),)),
    "indexed": (Indexed(), (torch.randn(4, 6), torch.randint(0, 4, (4, 6)))),
    "sorted": (Sorted(), (torch.randn(4, 6),)),
    "einsum": (Einsum(), (torch.randn(2, 3, 4), torch.randn(2, 4, 5))),
    "padded": (Padded(), (torch.randn(2, 3, 5, 6),)),
    "pools": (Pools(), (torch.randn(2, 4, 8, 10),)),
    "losses": (Losses(), (torch.randn(4, 5), torch.tensor([0, 4, 2, 2]), torch.randn(4, 5))),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_and_its_file_agree(name):
    torch.manual_seed(0)
    model, args = MODELS[name]
    agree(model, *args)
