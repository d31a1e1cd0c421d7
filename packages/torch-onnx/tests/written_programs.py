"""Programs that write to parts of tensors, fill lists, print and raise."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Slices(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0] = 1.0
        y[0] += 2
        y[:, 1:3] *= x[:, 1:3]
        y[1, 2] = x.sum()
        y[..., -1:] = x[..., :1]
        return y


class Views(nn.Module):
    def forward(self, x):
        y = torch.zeros(x.shape[0] + 1, x.shape[1])
        rows, flat, turned = y[1:], y.view(-1), y.t()
        rows.copy_(x)
        flat[2] = 7.0
        turned[0].add_(3.0)
        lifted = y.unsqueeze(0).permute(2, 0, 1)
        lifted.mul_(2.0)
        y.diagonal().fill_(-1.0)
        y.narrow(0, 1, 1).zero_()
        return y, rows, flat, turned, lifted


class Places(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[y > 0.5] = 0.0
        y[torch.tensor([0]), torch.tensor([1])] = 9.0
        y[:, torch.tensor([0, 2])] = 5.0
        return y


class InABranch(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x.clone()
            y[0] = 1.0
            return y
        return x


class Rows(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        for i in range(x.size(0)):
            y[i] = x[i] * i
        return y


class Buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(4, 3))

    def forward(self, x):
        own = self.table.clone()
        own[1:3] = x[:2]
        return own + self.table


class Fills(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)

    def forward(self, x):
        found: list[Tensor] = []
        h = torch.zeros(3)
        for i in range(x.size(0)):
            h = torch.tanh(self.cell(x[i]) + h)
            found.append(h)
        return torch.stack(found), torch.stack(found, 1), torch.cat(found), h * len(found)


class FillsAndChanges(nn.Module):
    def forward(self, x):
        found: list[Tensor] = []
        for i in range(4):
            found.append(x * i)
            if i % 2 == 0:
                found.append(x)
        found.insert(0, x + 1)
        last = found.pop()
        found[1] = last - 5
        found.reverse()
        return torch.cat(found)


class Checks(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 1e9):
            raise ValueError(f"too much: {x.size(0)}")
        print("shape", x.shape, f"{x.dim()} dims")
        assert bool(x.sum() > -1e9), "too little"
        if x.dim() != 2:
            raise RuntimeError("two dims")
        return x * 2
