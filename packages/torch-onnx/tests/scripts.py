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
