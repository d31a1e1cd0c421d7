"""An LSTM that learns sine waves and goes on with them where they were cut.

python main.py --plot waves.png
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options

PERIOD = 50  # steps of one wave


class Sequence(nn.Module):
    """Values (N, T) to the value that follows each, (N, T + future): its own predictions are what it sees after the end."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.cell1, self.cell2 = nn.LSTMCell(1, hidden), nn.LSTMCell(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: Tensor, future: int = 0) -> Tensor:
        size = (len(x), self.cell1.hidden_size)
        h1, c1, h2, c2 = (x.new_zeros(size) for _ in range(4))
        outputs: list[Tensor] = []
        for t in range(x.shape[1] + future):
            seen = x[:, t : t + 1] if t < x.shape[1] else outputs[-1]
            h1, c1 = self.cell1(seen, (h1, c1))
            h2, c2 = self.cell2(h1, (h2, c2))
            outputs.append(self.out(h2))
        return torch.cat(outputs, dim=1)


def waves(count: int, length: int, seed: int) -> Tensor:
    """Sine waves of one period and random phase, (N, length)."""
    phase = torch.rand(count, 1, generator=torch.Generator().manual_seed(seed))
    return torch.sin(2 * math.pi * (torch.arange(length) / PERIOD + phase))


def main() -> float:
    parser = options(__doc__, "time_sequence.pt", epochs=12)
    parser.add_argument("--waves", type=int, default=60, help="waves to learn from")
    parser.add_argument("--length", type=int, default=100, help="steps of each")
    parser.add_argument("--future", type=int, default=100, help="steps to go on for")
    parser.add_argument("--lr", type=float, default=0.5, help="of L-BFGS, which sees all waves at once")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw a wave and how it was continued")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    data = waves(args.waves, args.length, seed=1)
    whole = waves(3, args.length + args.future, seed=2)
    net = Sequence()
    lbfgs = optim.LBFGS(net.parameters(), lr=args.lr, max_iter=10)
    course = Course(args, net=net, optimizer=lbfgs)

    def closure() -> Tensor:
        lbfgs.zero_grad()
        loss = F.mse_loss(net(data[:, :-1]), data[:, 1:])
        loss.backward()
        return loss

    error = float("nan")
    for _ in course.epochs():
        loss = float("nan")
        for _ in course.batches(range(1), 1):
            loss = float(lbfgs.step(closure))
        with torch.no_grad():
            continued = net(whole[:, : args.length], args.future - 1)
            error = F.mse_loss(continued[:, args.length - 1 :], whole[:, args.length :]).item()
        course.report(loss=loss, continued=error)

    if args.plot:
        import pictures

        with torch.no_grad():
            continued = net(whole[:1, : args.length], args.future - 1)[0]
        steps = torch.arange(1, args.length + args.future)
        lines = {
            "the wave": (steps, whole[0, 1:]),
            f"predicted; from step {args.length} on, from its own values": (steps, continued),
        }
        pictures.curves(args.plot, lines)
    return error


if __name__ == "__main__":
    main()
