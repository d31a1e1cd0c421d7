"""Twenty-two networks of different kinds, for `bench_onnxruntime.py`: what people hand to an inference engine.

Images are 224 x 224 and one at a time unless a line says otherwise. The published shapes of the papers are kept, weights are
random, and batch norms hold the statistics of one batch, so that numbers stay in range through deep networks.
"""

import torch
from torch import nn
from torch.nn import functional as F


def conv(i, o, kernel=3, stride=1, groups=1, act=nn.ReLU):
    """A convolution that keeps the map (divided by the stride), its batch norm and what follows."""
    layers = [nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Plus(nn.Module):
    """x + f(x)"""

    def __init__(self, *inner):
        super().__init__()
        self.inner = nn.Sequential(*inner)

    def forward(self, x):
        return x + self.inner(x)


class Pooled(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


class Permuted(nn.Module):
    def __init__(self, *dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.permute(self.dims)


# ---- images


class Squeeze(nn.Module):
    """A weight for each channel, from the means of all (Hu 2018)."""

    def __init__(self, width, inner, act, gate):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(width, inner, 1), nn.Conv2d(inner, width, 1)
        self.act, self.gate = act(), gate()

    def forward(self, x):
        return x * self.gate(self.expand(self.act(self.reduce(x.mean((2, 3), keepdim=True)))))


class Basic(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.body = nn.Sequential(conv(i, o, 3, stride), conv(o, o, act=None))
        self.short = conv(i, o, 1, stride, act=None) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def resnet18():
    stages = [
        Basic(max(64, w // 2) if not k else w, w, 2 if w > 64 and not k else 1)
        for w in (64, 128, 256, 512)
        for k in (0, 1)
    ]
    return nn.Sequential(conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *stages, Pooled(), nn.Linear(512, 1000))


class Dense(nn.Module):
    def __init__(self, i, growth=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(i),
            nn.ReLU(),
            conv(i, 4 * growth, 1),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet121():
    layers, width = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for block, count in enumerate((6, 12, 24, 16)):
        layers += [Dense(width + 32 * k) for k in range(count)]
        width += 32 * count
        if block < 3:
            layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)]
            width //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU(), Pooled(), nn.Linear(width, 1000))


def inverted(i, o, inner, kernel, stride, squeeze, act, gate):
    """A pointwise convolution to more channels, a depthwise one there, and back (Sandler 2018)."""
    layers = [conv(i, inner, 1, act=act)] if inner != i else []
    layers.append(conv(inner, inner, kernel, stride, inner, act))
    if squeeze:
        layers.append(Squeeze(inner, squeeze, act if act is nn.SiLU else nn.ReLU, gate))
    layers.append(conv(inner, o, 1, act=None))
    return Plus(*layers) if i == o and stride == 1 else nn.Sequential(*layers)


def mobilenetv3_small():
    layers, width = [conv(3, 16, 3, 2, act=nn.Hardswish)], 16
    for kernel, inner, o, squeeze, act, stride in [  # table 2 of Howard 2019
        (3, 16, 16, 8, nn.ReLU, 2), (3, 72, 24, 0, nn.ReLU, 2), (3, 88, 24, 0, nn.ReLU, 1), (5, 96, 40, 24, nn.Hardswish, 2),
        (5, 240, 40, 64, nn.Hardswish, 1), (5, 240, 40, 64, nn.Hardswish, 1), (5, 120, 48, 32, nn.Hardswish, 1),
        (5, 144, 48, 40, nn.Hardswish, 1), (5, 288, 96, 72, nn.Hardswish, 2), (5, 576, 96, 144, nn.Hardswish, 1),
        (5, 576, 96, 144, nn.Hardswish, 1),
    ]:  # fmt: skip
        layers.append(inverted(width, o, inner, kernel, stride, squeeze, act, nn.Hardsigmoid))
        width = o
    layers += [
        conv(96, 576, 1, act=nn.Hardswish),
        Pooled(),
        nn.Linear(576, 1024),
        nn.Hardswish(),
        nn.Linear(1024, 1000),
    ]
    return nn.Sequential(*layers)


def efficientnet_b0():
    layers, width = [conv(3, 32, 3, 2, act=nn.SiLU)], 32
    for more, o, count, stride, kernel in [  # table 1 of Tan 2019
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ]:  # fmt: skip
        for k in range(count):
            inner = width * more
            layers.append(inverted(width, o, inner, kernel, stride if not k else 1, width // 4, nn.SiLU, nn.Sigmoid))
            width = o
    return nn.Sequential(*layers, conv(320, 1280, 1, act=nn.SiLU), Pooled(), nn.Linear(1280, 1000))


class Stage(nn.Module):
    """A block of RegNetY: a bottleneck with groups and a squeeze (Radosavovic 2020)."""

    def __init__(self, i, o, stride, group=8):
        super().__init__()
        self.body = nn.Sequential(
            conv(i, o, 1), conv(o, o, 3, stride, o // group), Squeeze(o, max(8, i // 4), nn.ReLU, nn.Sigmoid), conv(o, o, 1, act=None)
        )  # fmt: skip
        self.short = nn.Identity() if i == o and stride == 1 else conv(i, o, 1, stride, act=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def regnety_002():
    layers, width = [conv(3, 32, 3, 2)], 32
    for o, count in [(24, 1), (56, 1), (152, 4), (368, 7)]:
        for k in range(count):
            layers.append(Stage(width, o, 1 if k else 2))
            width = o
    return nn.Sequential(*layers, Pooled(), nn.Linear(width, 1000))


def convnext_atto():
    def block(w):  # Liu 2022, with the layout of its public code: linear layers over channels that lie last
        return Plus(
            nn.Conv2d(w, w, 7, padding=3, groups=w), Permuted(0, 2, 3, 1), nn.LayerNorm(w), nn.Linear(w, 4 * w), nn.GELU(),
            nn.Linear(4 * w, w), Permuted(0, 3, 1, 2),
        )  # fmt: skip

    def normed(w):
        return Permuted(0, 2, 3, 1), nn.LayerNorm(w), Permuted(0, 3, 1, 2)

    layers = [nn.Conv2d(3, 40, 4, 4), *normed(40)]
    for w, count in [(40, 2), (80, 2), (160, 6), (320, 2)]:
        if w > 40:
            layers += [*normed(w // 2), nn.Conv2d(w // 2, w, 2, 2)]
        layers += [block(w) for _ in range(count)]
    return nn.Sequential(*layers, Pooled(), nn.LayerNorm(320), nn.Linear(320, 1000))


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


def mixer_s32():
    def mlp(width, inner):
        return nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width)

    def block():  # Tolstikhin 2021
        return [
            Plus(nn.LayerNorm(512), Permuted(0, 2, 1), *mlp(49, 256), Permuted(0, 2, 1)),
            Plus(nn.LayerNorm(512), *mlp(512, 2048)),
        ]

    blocks = [layer for _ in range(8) for layer in block()]
    start = [nn.Conv2d(3, 512, 32, 32), nn.Flatten(2), Permuted(0, 2, 1)]
    return nn.Sequential(*start, *blocks, nn.LayerNorm(512), Mean(), nn.Linear(512, 1000))


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.a, self.b = nn.Sequential(conv(3, width), conv(width, width)), conv(width, 2 * width)
        self.deep = nn.Sequential(conv(2 * width, 4 * width), conv(4 * width, 2 * width))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.c, self.last = conv(2 * width, width), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.up(self.deep(self.b(F.max_pool2d(a, 2))))
        return self.last(self.c(torch.cat([a, b], 1)))


def lenet():
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2)),
        *(nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10)),
    )


def dcgan():
    layers = [nn.ConvTranspose2d(100, 256, 4, 1, 0, bias=False), nn.BatchNorm2d(256), nn.ReLU()]
    for w in (256, 128, 64):
        layers += [nn.ConvTranspose2d(w, w // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(w // 2), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())


# ---- words


class Heads(nn.Module):
    """Attention of several heads; `turn`, if there is one, rotates queries and keys by their places."""

    def __init__(self, width, heads, causal, bias=True, turn=None):
        super().__init__()
        self.heads, self.causal, self.turn = heads, causal, turn
        self.qkv, self.join = nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if self.turn is not None:
            q, k = self.turn(q), self.turn(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.join(y.transpose(1, 2).reshape(b, t, c))


class Turn(nn.Module):
    """Rotary places (Su 2021)."""

    def __init__(self, length, size):
        super().__init__()
        angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("cos", torch.cat([angles, angles], 1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], 1).sin())

    def forward(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin


class Gated(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate, self.up, self.down = (
            nn.Linear(width, inner, False),
            nn.Linear(width, inner, False),
            nn.Linear(inner, width, False),
        )

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def mlp(width, act):
    return nn.Linear(width, 4 * width), act, nn.Linear(4 * width, width)


class Words(nn.Module):
    """Embeddings of words and places, blocks, and a score for each word."""

    def __init__(self, blocks, words, width, length, norm, places=True):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width) if places else None
        self.blocks, self.norm, self.last = nn.Sequential(*blocks), norm, nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        if self.places is not None:
            x = x + self.places.weight[: ids.shape[1]]
        return self.last(self.norm(self.blocks(x)))


def gpt2(width=256, length=64):
    blocks = [
        Plus(nn.LayerNorm(width), inner)
        for _ in range(4)
        for inner in (Heads(width, 4, True), nn.Sequential(*mlp(width, nn.GELU(approximate="tanh"))))
    ]
    return Words(blocks, 1000, width, length, nn.LayerNorm(width))


def bert(width=256, length=64):
    blocks = []
    for _ in range(4):
        blocks += [Plus(Heads(width, 4, False)), nn.LayerNorm(width), Plus(*mlp(width, nn.GELU())), nn.LayerNorm(width)]
    return Words(blocks, 1000, width, length, nn.LayerNorm(width))


def llama(width=256, length=64):
    turn, blocks = Turn(length, width // 4), []
    for _ in range(4):
        blocks += [
            Plus(nn.RMSNorm(width, eps=1e-6), Heads(width, 4, True, False, turn)),
            Plus(nn.RMSNorm(width, eps=1e-6), Gated(width, 688)),
        ]
    return Words(blocks, 1000, width, length, nn.RMSNorm(width, eps=1e-6), places=False)


def vit_tiny():
    class Vision(nn.Module):
        def __init__(self, width=192):
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, 16)
            self.first, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, 197, width))
            self.blocks = nn.Sequential(
                *(
                    Plus(nn.LayerNorm(width), inner)
                    for _ in range(12)
                    for inner in (Heads(width, 3, False), nn.Sequential(*mlp(width, nn.GELU())))
                )
            )
            self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, 1000)

        def forward(self, x):
            x = torch.cat([self.first, self.patches(x).flatten(2).transpose(1, 2)], 1) + self.places
            return self.last(self.norm(self.blocks(x))[:, 0])

    return Vision()


class Recurrent(nn.Module):
    def __init__(self, kind, words=1000, width=128, **options):
        super().__init__()
        self.words, self.walk = nn.Embedding(words, width), kind(width, width, batch_first=True, **options)
        self.last = nn.Linear(width, 10)

    def forward(self, ids):
        return self.last(self.walk(self.words(ids))[0][:, -1])


class Auto(nn.Module):
    """The means of a variational autoencoder, and what it makes of them."""

    def __init__(self):
        super().__init__()
        self.narrow, self.mean, self.widen, self.last = (
            nn.Linear(784, 400),
            nn.Linear(400, 20),
            nn.Linear(20, 400),
            nn.Linear(400, 784),
        )

    def forward(self, x):
        return torch.sigmoid(self.last(F.relu(self.widen(self.mean(F.relu(self.narrow(x)))))))


class Causal(nn.Module):
    """Two convolutions over the past, dilated (Bai 2018)."""

    def __init__(self, width, dilation):
        super().__init__()
        self.past = 2 * dilation
        self.a, self.b = nn.Conv1d(width, width, 3, dilation=dilation), nn.Conv1d(width, width, 3, dilation=dilation)

    def forward(self, x):
        y = F.relu(self.a(F.pad(x, (self.past, 0))))
        return F.relu(x + F.relu(self.b(F.pad(y, (self.past, 0)))))


class Recommend(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.things = nn.Embedding(1000, 32), nn.Embedding(1000, 32)
        self.score = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, ids):
        return torch.sigmoid(self.score(torch.cat([self.users(ids[:, 0]), self.things(ids[:, 1])], 1)))


def image(n=1, c=3, size=224):
    return torch.randn(n, c, size, size)


def text(n=1, length=64, words=1000):
    return torch.randint(words, (n, length))


MODELS = {
    "lenet": lambda: (lenet(), image(32, 1, 28)),
    "resnet18": lambda: (resnet18(), image()),
    "densenet121": lambda: (densenet121(), image()),
    "mobilenetv3_small": lambda: (mobilenetv3_small(), image()),
    "efficientnet_b0": lambda: (efficientnet_b0(), image()),
    "regnety_002": lambda: (regnety_002(), image()),
    "convnext_atto": lambda: (convnext_atto(), image()),
    "mixer_s32": lambda: (mixer_s32(), image()),
    "vit_tiny": lambda: (vit_tiny(), image()),
    "unet": lambda: (UNet(), image(size=64)),
    "dcgan": lambda: (dcgan(), torch.randn(1, 100, 1, 1)),
    "gpt2": lambda: (gpt2(), text()),
    "bert": lambda: (bert(), text()),
    "llama": lambda: (llama(), text()),
    "transformer": lambda: (
        nn.TransformerEncoder(
            nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), 4, enable_nested_tensor=False
        ),
        torch.randn(2, 64, 256),
    ),
    "lstm": lambda: (Recurrent(nn.LSTM, num_layers=2), text(16, 32)),
    "gru": lambda: (Recurrent(nn.GRU), text(8, 32)),
    "tcn": lambda: (nn.Sequential(*(Causal(64, 2**k) for k in range(4))), torch.randn(1, 64, 256)),
    "mlp": lambda: (
        nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)),
        torch.randn(64, 784),
    ),
    "gelu_mlp": lambda: (nn.Sequential(*mlp(256, nn.GELU())), torch.randn(64, 256)),
    "vae": lambda: (Auto(), torch.randn(64, 784)),
    "recsys": lambda: (Recommend(), text(64, 2)),
}


def make(name):
    """A network ready for use, and an input of it; the same numbers at each call."""
    torch.manual_seed(0)
    model, x = MODELS[name]()
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    if norms:
        for m in norms:
            m.momentum = 1.0
        with torch.no_grad():
            model.train()(torch.cat([x, torch.randn_like(x)]))
    return model.eval(), x
