"""A differential equation is learned from its solutions (Chen 2018): dy/dt = f(y), with f a network.

The integrator is classical Runge-Kutta, written here in tensors, so that the tape differentiates through it.

python main.py --plot spiral.png
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options

TRUE = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def odeint(f: Callable[[Tensor], Tensor], y: Tensor, t: Tensor) -> Tensor:
    """The solution of dy/dt = f(y) at the times t, (T, *) for a start y (*), by Runge-Kutta of order 4."""
    solution = [y]
    for h in t.diff():
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        solution.append(y)
    return torch.stack(solution)


class Field(nn.Module):
    """The direction at each point (*, 2). It sees cubes of the coordinates, of which the true field is linear."""

    def __init__(self, hidden: int = 50) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        for layer in self.net:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, 0, 0.1)
                nn.init.zeros_(layer.bias)

    def forward(self, y: Tensor) -> Tensor:
        return self.net(y**3)


def true_field(y: Tensor) -> Tensor:
    """The cubic spiral: dy/dt = A y^3."""
    return y**3 @ TRUE


def main() -> float:
    parser = options(__doc__, "neural_ode.pt", epochs=10)
    parser.add_argument("--points", type=int, default=500, help="times at which the true solution is known")
    parser.add_argument("--window", type=int, default=10, help="times that one piece of training data spans")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--batches", type=int, default=40, help="batches of an epoch")
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the true and the learned path")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    start = torch.tensor([2.0, 0.0])
    t = torch.linspace(0, 12.5, args.points)
    with torch.no_grad():
        truth = odeint(true_field, start, t)
    field = Field()
    adam = optim.Adam(field.parameters(), lr=args.lr)
    course = Course(args, field=field, optimizer=adam)
    error = float("nan")
    for _ in course.epochs():
        losses = []
        for _ in course.batches(range(args.batches), args.batches):
            begin = torch.randint(args.points - args.window, (args.batch_size,))
            piece = truth[begin + torch.arange(args.window).unsqueeze(1)]  # (window, batch, 2)
            adam.zero_grad()
            loss = F.l1_loss(odeint(field, piece[0], t[: args.window]), piece)
            loss.backward()
            adam.step()
            losses.append(loss.item())
        with torch.no_grad():
            error = F.l1_loss(odeint(field, start, t), truth).item()
        course.report(loss=sum(losses) / len(losses), path=error)

    if args.plot:
        import pictures

        with torch.no_grad():
            learned = odeint(field, start, t)
        pictures.curves(args.plot, {"true": (truth[:, 0], truth[:, 1]), "learned": (learned[:, 0], learned[:, 1])})
    return error


if __name__ == "__main__":
    main()
