"""Small pictures made twice as large by a network of convolutions that ends in a pixel shuffle (Shi 2016).

The pictures are made here, of discs and stripes, so that the sharp ones are known. Compared with bicubic interpolation.

python main.py --plot pictures.png
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader, TensorDataset

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options


class Net(nn.Module):
    """Gray images (N, 1, H, W) to (N, 1, factor H, factor W): what is learned is added to the bicubic enlargement."""

    def __init__(self, factor: int = 2, width: int = 24) -> None:
        super().__init__()
        self.factor = factor
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, width, 5, padding=2), nn.Tanh()),
            *(nn.Conv2d(width, width, 3, padding=1), nn.Tanh()),
            *(nn.Conv2d(width, factor**2, 3, padding=1), nn.PixelShuffle(factor)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return bicubic(x, self.factor) + self.layers(x)


def bicubic(x: Tensor, factor: int) -> Tensor:
    return F.interpolate(x, scale_factor=factor, mode="bicubic", align_corners=False)


def scenes(count: int, size: int, seed: int) -> Tensor:
    """Sharp images (N, 1, size, size): stripes in a random direction, a disc in front of them."""
    g = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid([torch.arange(size) / size] * 2, indexing="ij")
    angle, pitch, cx, cy, radius, shade = torch.rand(6, count, 1, 1, generator=g)
    along = x * (math.pi * angle).cos() + y * (math.pi * angle).sin()
    stripes = ((along * (2 + 4 * pitch)).remainder(1) < 0.5).float()
    disc = (x - cx) ** 2 + (y - cy) ** 2 < (0.1 + 0.3 * radius) ** 2
    return torch.where(disc, shade, stripes).unsqueeze(1)


def psnr(one: Tensor, other: Tensor) -> float:
    """Peak signal to noise ratio in dB, for pixels in [0, 1]."""
    return -10 * math.log10(F.mse_loss(one.clamp(0, 1), other).item())


def main() -> float:
    parser = options(__doc__, "super_resolution.pt", epochs=10)
    parser.add_argument("--images", type=int, default=400, help="training images")
    parser.add_argument("--size", type=int, default=48, help="sides of the sharp images")
    parser.add_argument("--factor", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw small, enlarged and sharp images")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    sharp, unseen = scenes(args.images, args.size, seed=1), scenes(40, args.size, seed=2)
    small, unseen_small = F.avg_pool2d(sharp, args.factor), F.avg_pool2d(unseen, args.factor)
    net = Net(args.factor)
    adam = optim.Adam(net.parameters(), lr=args.lr)
    course = Course(args, net=net, optimizer=adam)
    plain = psnr(bicubic(unseen_small, args.factor), unseen)
    gained = 0.0
    for _ in course.epochs():
        loader: DataLoader = DataLoader(TensorDataset(small, sharp), args.batch_size, shuffle=True)
        for x, y in course.batches(loader, len(loader)):
            adam.zero_grad()
            F.mse_loss(net(x), y).backward()
            adam.step()
        with torch.no_grad():
            learned = psnr(net(unseen_small), unseen)
        gained = learned - plain
        course.report(bicubic=plain, network=learned)

    if args.plot:
        import pictures

        with torch.no_grad():
            made = net(unseen_small[:8])
        rows = {
            "small": unseen_small[:8],
            "bicubic": bicubic(unseen_small[:8], args.factor),
            "network": made,
            "sharp": unseen[:8],
        }
        pictures.grid(args.plot, {name: images[:, 0] for name, images in rows.items()})
    return gained


if __name__ == "__main__":
    main()
