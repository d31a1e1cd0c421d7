# ruff: noqa
"""Modules of many kinds, as users write them, with arguments for their forward."""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MODULES = {}


def module(*args):
    def register(cls):
        MODULES[cls.__name__] = cls, args
        return cls

    return register


def ramp(*shape):
    n = 1
    for each in shape:
        n *= each
    return torch.arange(n, dtype=torch.float32).reshape(shape) / n - 0.4


def conv3x3(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, inputs, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = conv3x3(inputs, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        out = self.relu(out)
        return out


@module(ramp(2, 3, 32, 32))
class ResNet(nn.Module):
    def __init__(self, block=BasicBlock, layers=(1, 1), classes=5):
        super().__init__()
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 8, layers[0])
        self.layer2 = self._make_layer(block, 16, layers[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16 * block.expansion, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))
        return nn.Sequential(*layers)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


@module(ramp(4, 6))
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.act = nn.GELU()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = x + self.drop(self.act(layer(x)))
            if i == 1:
                x = x * 2
        return x


@module(ramp(4, 6))
class Dictionary(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(6, 2), "b": nn.Linear(6, 2)})

    def forward(self, x) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name, head in self.heads.items():
            found[name] = head(x)
        return found


@module(ramp(4, 6))
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(6))
        self.calls = 0
        self.names = ["a", "b"]
        self.scale: float = 2.0

    def forward(self, x):
        self.total = self.total + x.sum(0)
        self.calls += 1
        return self.total * self.scale * self.calls + len(self.names)


@module(ramp(5, 2, 3), None)
class Recurrent(nn.Module):
    hidden_size: Final[int]

    def __init__(self):
        super().__init__()
        self.hidden_size = 4
        self.w = nn.Linear(3, 4)
        self.u = nn.Linear(4, 4, bias=False)

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if hidden is None:
            hidden = torch.zeros(x.size(1), self.hidden_size, dtype=x.dtype, device=x.device)
        outputs = torch.jit.annotate(list[Tensor], [])
        for t in range(x.size(0)):
            hidden = torch.tanh(self.w(x[t]) + self.u(hidden))
            outputs += [hidden]
        return torch.stack(outputs), hidden


@module(ramp(2, 5, 8))
class Attention(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(self.norm(x)).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q @ k.transpose(-2, -1)) * (C // self.heads) ** -0.5
        attn = attn.softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C)) + x


@module(torch.tensor([[1, 2, 0], [3, 1, 1]]))
class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4, padding_idx=0)
        self.norm = nn.GroupNorm(1, 3)
        self.pool = nn.AvgPool1d(2)

    def forward(self, x):
        return self.pool(self.norm(self.table(x)))


@module(ramp(1, 2, 6, 6))
class ManyLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(
            nn.ZeroPad2d(1), nn.Conv2d(2, 4, 3, padding=1, groups=2), nn.LeakyReLU(0.1), nn.Hardswish(), nn.SiLU(),
            nn.ConvTranspose2d(4, 2, 2, 2), nn.InstanceNorm2d(2), nn.Sigmoid(), nn.PReLU(), nn.Flatten(2), nn.Softmax(-1),
            nn.Identity(),
        )  # fmt: skip

    def forward(self, x):
        return self.seq(x)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)

    def shared(self, x, n: int = 2):
        return self.lin(x) * n

    def forward(self, x):
        return self.shared(x)


@module(ramp(4, 6))
class Derived(Base):
    def forward(self, x):
        y = super().forward(x)
        return y + self.shared(x, 3) + self.twice

    @property
    def twice(self) -> float:
        return self.lin.weight.size(0) * 2.0


@module(ramp(4, 6))
class Marked(nn.Module):
    __constants__ = ["mode"]

    def __init__(self):
        super().__init__()
        self.mode = "sum"
        self.act = F.relu
        self.lin = nn.Linear(6, 6)
        self.missing = None

    @torch.jit.unused
    def in_python(self, x):
        return [each for each in map(str, x)]

    @torch.jit.export
    def twice(self, x):
        return self.forward(x) * 2

    def forward(self, x):
        if not torch.jit.is_scripting():
            self.in_python(x)
        if self.missing is not None:
            x = self.missing(x)
        if hasattr(self, "nothing"):
            x = self.nothing(x)
        x = self.act(self.lin(x))
        if self.mode == "sum":
            return x.sum(1)
        return x
