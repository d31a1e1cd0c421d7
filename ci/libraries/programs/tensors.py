"""Tensor networks, wavelets, cosine transforms."""

import torch
from common import fill, numbers

DISTRIBUTIONS = ("tntorch", "torch-dct", "ptwt", "tensorly-torch")


def tensor_trains():
    import tntorch as tn

    x = numbers(4, 5, 6)
    t = tn.Tensor(x, ranks_tt=3)
    return tn.Tensor(x).torch(), t.torch(), tn.sum(t), tn.norm(t), (t + t).torch()


def cosines():
    import torch_dct as dct

    x = numbers(3, 8).requires_grad_()
    y = dct.dct(x)
    z = dct.idct(y)
    (y**3).sum().backward()
    return y, z, x.grad, dct.dct_2d(x.detach()), dct.dct1(x.detach())


def wavelets():
    import ptwt

    x = numbers(2, 64)
    c = ptwt.wavedec(x, "db3", level=3, mode="zero")
    r = ptwt.waverec(c, "db3")
    c2 = ptwt.wavedec2(numbers(2, 32, 32), "haar", level=2)
    p = ptwt.WaveletPacket(x, "db2", maxlevel=2)
    f, _ = ptwt.cwt(x, torch.arange(1, 9), "mexh")
    return c, r, c2[0], p["aa"], f


def factorised_layers():
    import tltorch

    layer = tltorch.FactorizedLinear((4, 4), (3, 3), bias=True, factorization="cp", rank=4)
    fill(layer, 0.3)
    x = numbers(2, 16)
    y = layer(x)
    (y**2).sum().backward()
    conv = tltorch.FactorizedConv(2, 3, kernel_size=3, order=2, factorization="tucker", rank=0.7)
    fill(conv, 0.3)
    return y, [p.grad for p in layer.parameters()], conv(numbers(1, 2, 8, 8))
