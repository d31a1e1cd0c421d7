"""Parts of complex tensors, and writes to them."""

import torch
from agreement import agree
from torch import nn


class Modes(nn.Module):
    """The low frequencies of a signal, weighed one by one: a layer of a Fourier neural operator."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 4, 2))

    def forward(self, x):
        waves = torch.fft.rfft(x)
        kept = torch.zeros_like(waves)
        kept[:, :, :4] = waves[:, :, :4] * torch.view_as_complex(self.weight)
        kept[..., -1:] = waves[..., 1:2]
        return torch.fft.irfft(kept, n=16), torch.view_as_real(waves[:, -1]), torch.view_as_real(waves[..., 1::3])


def test_parts_of_complex_tensors_are_read_and_written():
    torch.manual_seed(0)
    agree(Modes(), torch.rand(2, 3, 16), others=[(torch.rand(2, 3, 16),)], opset_version=18)
    agree(Modes(), torch.rand(2, 3, 16), others=[(torch.rand(2, 3, 16),)], opset_version=18, dynamo=False)
    agree(
        Modes(), torch.rand(2, 3, 16), others=[(torch.rand(5, 3, 16),)], opset_version=20,
        dynamic_shapes=({0: torch.export.Dim("n")},),
    )  # fmt: skip
