"""Scripts with branches and loops."""

import torch
from torch import Tensor, nn


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            y = self.a(x)
        else:
            y = torch.tanh(self.b(x))
        return y * 2


class Turns(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x: Tensor, n: int):
        for i in range(n):
            x = self.step(x) + i
        count = 0
        while bool(x.norm() > 1.0):
            x = x / 2
            count += 1
        return x.view(x.size(0), -1), count


class Rows(nn.Module):
    """A loop over a size: a recurrence written by hand, with a branch within."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(x.size(1), 4)
        for t in range(x.size(0)):
            state = torch.tanh(self.cell(state) + x[t])
            if t > 1:
                state = state * 0.5
        return state


class Growing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = x
        for i in range(3):
            total = torch.cat([total, x * i], 0)
        if x.dim() == 1:
            raise RuntimeError("two dims")
        return total.sum(1)


class Lists(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        found: list[Tensor] = []
        for _ in range(int(x.sum())):
            found.append(x)
        return torch.stack(found)


class Prints(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        print(x)
        return x


class Counts(nn.Module):
    def forward(self, x, n: int):
        for i in range(n):
            if i % 3 == 1:
                x = x + i // 2
            else:
                x = x - max(i, 2) * min(-i, n)
            x = x * abs(i - 2)
        return x + x.size(0) % 2


class Extremes(nn.Module):
    def forward(self, x):
        n = 5.5
        for i in range(x.size(0)):
            n = max(-n * 1.5, i) + abs(n)
        return x * max(x.size(0), 2.5) - min([x.size(0), 7, 4]) * max([2, 3]) + n


class Gives(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x):
        h, c = self.cell(x)
        return {"state": h, "parts": c * 2}


class Table(nn.Module):
    """Numbers of a list by the turn of a loop."""

    def forward(self, x: Tensor) -> Tensor:
        whole, half = [2, 3, 5, 7], [0.5, 1.5, 2.5, -1.0]
        for i in range(x.size(0)):
            x = x * whole[i] + half[-1 - i]
        return x


class Chosen(nn.Module):
    """What a loop takes by its turn from lists, dicts, parts of lists and sizes, and dims that it goes through."""

    def forward(self, x: Tensor) -> Tensor:
        layers, factors, shape = [x, x + 1, x * 2], {0: 2.0, 1: 3.0}, x.shape
        for i in range(2):
            x = x * layers[1:][i] * factors[i] + shape[i] + x.size(i)
            x = x.transpose(i, 0) + x.select(i, 0).sum()
        if [shape[0], 3] == [2, 3] and shape[:1] != [shape[0] + 1]:
            x = x + 10
        return x


class Typed(nn.Module):
    """Layers that look at dtypes, modes and sizes before they compute."""

    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(4)
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.attend(x, x, x, need_weights=False)[0]
        state = torch.zeros(x.size(0), 4)
        for i in range(1, x.size(1), 2):
            state = self.cell(x[:, i], state)
        return state.double().to(x.dtype) * (x.size(1) / 2) ** 0.5 if x.is_floating_point() else state
