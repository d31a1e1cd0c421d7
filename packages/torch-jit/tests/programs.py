"""Programs to trace, the same for us and for PyTorch.

programs.json holds what PyTorch 2.13 makes of them: for each the lines of its text and its nodes. To record it anew, run
this file where that torch is installed: ``python programs.py > programs.json``.
"""

import json
import math

import torch
import torch.fx
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        self.layers = nn.ModuleList([Block(4, 4, 1), Block(4, 8, 2)])
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        x = F.adaptive_avg_pool2d(x, (1, 1))
        return self.fc(torch.flatten(x, 1))


class Attention(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        n, length, dim = x.shape
        qkv = self.qkv(x).reshape(n, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        weights = F.softmax(q * self.scale @ k.transpose(-2, -1), dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(n, length, dim))


class Encoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.token, self.position = nn.Embedding(11, dim), nn.Parameter(torch.zeros(1, 6, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, dim))

    def forward(self, tokens):
        x = self.token(tokens) * math.sqrt(8) + self.position
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x.mean(dim=1)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.inner, self.up = (
            nn.Conv2d(1, 2, 3, padding=1),
            nn.Conv2d(2, 2, 3, padding=1),
            nn.Conv2d(4, 1, 1),
        )

    def forward(self, x):
        a = torch.relu(self.down(x))
        b = F.interpolate(F.relu(self.inner(F.max_pool2d(a, 2))), scale_factor=2, mode="nearest")
        return self.up(torch.cat([a, b], dim=1)).sigmoid()


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.arange(3.0))
        self.register_buffer("b", torch.ones(3))
        self.c = torch.full((3,), 2.0)

    def forward(self, x, y: int = 3, *, z: float = 2.5):
        first = self.b - x + self.c
        second = self.w * x**y // z
        third = -abs(1 - x) % 4
        return {"out": first.add(second), "rest": (third, [x.shape[-1], None, slice(1, None)]), "kind": x.dtype}


class Names(nn.Module):
    def __init__(self):
        super().__init__()
        self.FirstLayer, self.inner = nn.Linear(2, 2), nn.ModuleDict({"a b": nn.ReLU(), "relu": nn.ReLU()})

    def forward(self, X, type=None):
        x = self.FirstLayer(X)
        relu = self.inner["relu"](self.inner["a b"](x))
        return relu.max().type(torch.float64).sum(), torch.relu(relu)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.steps = nn.GRUCell(2, 3), 3

    def forward(self, x, h):
        out = []
        for t in range(self.steps):
            h = self.cell(x[:, t], h)
            out.append(h)
        return torch.stack(out, 1), h


class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


def statistics(x, eps=1e-5):
    mean, var = x.mean(0), x.var(0, unbiased=False)
    return (x - mean) * torch.rsqrt(var + eps)


def starred(x, *args, scale=2, **kwargs):
    return x * scale


def masked(x, mask):
    return torch.where(mask, x, torch.zeros_like(x)).masked_fill(mask == 0, float("-inf"))


def in_place(x):
    x = x.clone()
    x += 1
    x.mul_(2)
    x[0:1]
    return x.unsqueeze(-1)[..., None]


def attends(q, k, v, mask=None):
    q, k = F.normalize(q, dim=-1), F.layer_norm(k, (4,))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.0)
    return (
        F.dropout(out, 0.5, training=False),
        F.cosine_similarity(q, k, dim=-1),
        F.pad(out, (1, 1)),
        F.log_softmax(out, 1),
    )


def sizes(x):
    n, c = x.size(0), x.size(1)
    return x.view(n, c // 2, 2).expand(-1, -1, 2), torch.arange(n), torch.zeros(n)


PROGRAMS = {
    "resnet": (ResNet, lambda: (torch.linspace(-1, 1, 3 * 32 * 32).view(1, 3, 32, 32),)),
    "encoder": (Encoder, lambda: (torch.arange(12).view(2, 6) % 11,)),
    "unet": (Unet, lambda: (torch.linspace(-1, 1, 64).view(1, 1, 8, 8),)),
    "mixed": (Mixed, lambda: (torch.tensor([0.5, 1.5, 2.5]),)),
    "names": (Names, lambda: (torch.ones(3, 2),)),
    "recurrent": (Recurrent, lambda: (torch.linspace(-1, 1, 12).view(2, 3, 2), torch.zeros(2, 3))),
    "normalised": (Normalised, lambda: (torch.linspace(-1, 1, 16).view(1, 4, 2, 2),)),
    "sequential": (
        lambda: nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Sequential(nn.Linear(3, 1))),
        lambda: (torch.ones(2, 2),),
    ),
    "statistics": (lambda: statistics, lambda: (torch.linspace(-1, 1, 8).view(4, 2),)),
    "starred": (lambda: starred, lambda: (torch.ones(2),)),
    "masked": (lambda: masked, lambda: (torch.ones(2), torch.tensor([True, False]))),
    "in_place": (lambda: in_place, lambda: (torch.ones(2),)),
    "attends": (lambda: attends, lambda: tuple(torch.linspace(-1, k, 8).view(1, 2, 4) for k in (1, 2, 3))),
    "sizes": (lambda: sizes, lambda: (torch.ones(3, 4),)),
}


def described(graph_module):
    """The text of a traced program and its nodes, as lines. PyTorch prints where its C++ keeps some functions."""
    texts = {"code": graph_module.code, "graph": str(graph_module.graph)}
    return {key: text.replace("torch._C._nn.", "torch.nn.functional.").split("\n") for key, text in texts.items()}


def same(a, b):
    """Whether two results are the same bits in the same containers."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


if __name__ == "__main__":
    found = {name: described(torch.fx.symbolic_trace(make())) for name, (make, _) in PROGRAMS.items()}
    print(json.dumps(found, indent=1))
