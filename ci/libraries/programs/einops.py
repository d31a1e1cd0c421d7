"""einops: patterns of dims, and the layers made of them."""

import torch
from common import fill, gradients, numbers, reload
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

DISTRIBUTIONS = ("einops",)


def patterns():
    x = numbers(2, 3, 4, 5)
    return (
        rearrange(x, "b c h w -> b (h w) c"),
        rearrange(x, "b c (h p) w -> (b h) c p w", p=2),
        parse_shape(x, "b c h w"),
    )


def reductions():
    x = numbers(2, 3, 4, 6)
    return [reduce(x, "b c (h k) (w l) -> b c h w", how, k=2, l=3) for how in ("mean", "max", "min", "sum", "prod")]


def repeats():
    return repeat(numbers(2, 3), "a b -> a (b k) n", k=2, n=3)


def sums():
    return einsum(numbers(2, 3, 4), numbers(4, 5), "a b c, c d -> a d b")


def packs():
    packed, shapes = pack([numbers(2, 3, 4), numbers(2, 5)], "b *")
    return packed, unpack(packed, shapes, "b *")


def gradient_of_a_reduction():
    x = numbers(2, 4, 4).requires_grad_()
    reduce(x, "b (h k) w -> b h", "max", k=2).square().sum().backward()
    return x.grad


def layers():
    net = fill(
        nn.Sequential(
            nn.Conv2d(1, 4, 3),
            Reduce("b c (h k) (w l) -> b c h w", "max", k=2, l=2),
            Rearrange("b c h w -> b (c h w)"),
            nn.Linear(36, 3),
        )
    )
    net(numbers(2, 1, 8, 8)).square().mean().backward()
    return gradients(net)


def mix_saved_and_loaded():
    make = lambda: EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=4, d=6)
    return reload(fill(make()), make())(numbers(2, 3, 4))


def scripted():
    return torch.jit.script(nn.Sequential(Rearrange("b c -> c b"), nn.ReLU()))(numbers(2, 3))
