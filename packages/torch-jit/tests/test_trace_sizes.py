"""A trace of one example computes what the function computes for others, of other sizes, also where operators are composed in
Python: what that does with sizes is in the program."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def rand(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def classes(*shape):
    return torch.randint(0, 3, shape, generator=torch.Generator().manual_seed(sum(shape)))


IMAGES = (rand(2, 3, 4, 5),), (rand(1, 3, 6, 7),)
GRIDS = (rand(1, 2, 4, 5), 3 * rand(1, 3, 2, 2) - 1.5), (rand(2, 2, 6, 7), 3 * rand(2, 4, 5, 2) - 1.5)
TEXTS = (rand(2, 3, 4),), (rand(3, 6, 4),)
PAIRS = (rand(2, 3, 4), rand(2, 5, 4)), (rand(3, 6, 4), rand(3, 7, 4))
MATRICES = (rand(3, 4),), (rand(5, 6),)

FUNCTIONS = {
    "one_hot": (lambda x: F.one_hot(x, 5), (classes(2, 3),), (classes(4, 6),)),
    "affine_grid": (lambda t, x: F.affine_grid(t, x.size(), align_corners=False),
                    (rand(1, 2, 3), rand(1, 2, 4, 5)), (rand(3, 2, 3), rand(3, 2, 6, 7))),
    "unfold": (lambda x: F.unfold(x, 2, padding=1, stride=2), *IMAGES),
    "fold": (lambda x: F.fold(x, (4, 5), 2), (rand(1, 8, 12),), (rand(3, 8, 12),)),
    "instance_norm": (F.instance_norm, *IMAGES),
    "local_response_norm": (lambda x: F.local_response_norm(x, 2), *IMAGES),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (rand(2, 4, 4, 5),), (rand(1, 8, 6, 7),)),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (rand(2, 4, 4, 5),), (rand(1, 8, 6, 7),)),
    "max_unpool2d": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
                     (rand(2, 3, 8, 8),), (rand(4, 3, 10, 6),)),
    "multi_margin_loss": (F.multi_margin_loss, (rand(2, 3), classes(2)), (rand(4, 6), classes(4))),
    "cov": (torch.cov, *MATRICES),
    "gradient": (lambda x: torch.gradient(x)[0], *MATRICES),
    "pdist": (F.pdist, *MATRICES),
    **{f"pad {mode}": (lambda x, mode=mode: F.pad(x, (1, 2, 1, 0), mode=mode), *IMAGES)
       for mode in ("reflect", "replicate", "circular")},
    **{f"grid_sample {mode} {pad}": (lambda x, y, mode=mode, pad=pad: F.grid_sample(x, y, mode, pad, align_corners=False), *GRIDS)
       for mode in ("bilinear", "nearest", "bicubic") for pad in ("zeros", "border", "reflection")},
}  # fmt: skip

LAYERS = {
    "Unflatten": (nn.Unflatten(1, (2, 3)), (rand(2, 6, 4),), (rand(5, 6, 7),)),
    "InstanceNorm2d": (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), *IMAGES),
    "Conv2d, circular": (nn.Conv2d(3, 2, 3, padding="same", padding_mode="circular"), *IMAGES),
    "TransformerEncoderLayer": (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), *TEXTS),
    "TransformerDecoderLayer": (nn.TransformerDecoderLayer(4, 2, 8, batch_first=True), *PAIRS),
    "Transformer": (nn.Transformer(4, 2, 1, 1, 8, batch_first=True), *PAIRS),
}


def compare(function, example, other):
    traced = torch.jit.trace(function, example, check_trace=False)
    found, wanted = traced(*other), function(*other)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_traced_function_takes_other_sizes(name):
    compare(*FUNCTIONS[name])


@pytest.mark.parametrize("name", LAYERS)
def test_a_traced_layer_takes_other_sizes(name):
    layer, example, other = LAYERS[name]
    compare(layer.eval(), example, other)


def test_traced_attention_takes_other_sizes_and_masks():
    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x, padding, mask):
            return self.attention(x, x, x, key_padding_mask=padding, attn_mask=mask)[0]

    masks = lambda length: torch.triu(torch.full((length, length), -torch.inf), 1)
    example = rand(2, 3, 4), torch.zeros(2, 3), masks(3)
    compare(Attend().eval(), example, (rand(3, 6, 4), torch.zeros(3, 6), masks(6)))
