"""A picture painted in the manner of another (Gatys 2015), by features of convolutions whose weights are random (He 2016).

No trained network is needed: correlations of random features, at several scales, hold enough of a texture.

python main.py --plot painted.png
python main.py --content photo.png --style painting.png --plot painted.png   # pictures of your own, with Pillow
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


def made_content(size: int) -> Tensor:
    """A sun over hills (1, 3, size, size)."""
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
    hills = (y > 0.65 + 0.12 * torch.sin(7 * x)).float()
    sun = ((x - 0.7) ** 2 + (y - 0.3) ** 2 < 0.02).float()
    sky = torch.stack([0.5 + 0.3 * y, 0.6 + 0.2 * y, 0.9 - 0.2 * y])
    ground = torch.stack([0.2 + 0.1 * x, 0.5 - 0.2 * x, 0.2 * torch.ones_like(x)])
    picture = sky * (1 - hills) + ground * hills
    return (picture * (1 - sun) + torch.tensor([1.0, 0.9, 0.3]).view(3, 1, 1) * sun).unsqueeze(0)


def made_style(size: int) -> Tensor:
    """Bent stripes in warm colours (1, 3, size, size)."""
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
    wave = torch.sin(2 * math.pi * (6 * x + 4 * y + 0.4 * torch.sin(9 * y)))
    return torch.stack([0.6 + 0.4 * wave, 0.4 + 0.3 * wave, 0.3 - 0.2 * wave]).unsqueeze(0)


def read(path: Path, size: int) -> Tensor:
    """A picture of a file, as (1, 3, size, size) from 0 to 1."""
    import numpy
    from PIL import Image

    image = Image.open(path).convert("RGB").resize((size, size))
    return torch.from_numpy(numpy.asarray(image).copy()).permute(2, 0, 1).unsqueeze(0).float() / 255


class Features(nn.Module):
    """Random convolutions on smaller and smaller pictures; nothing of it is trained."""

    def __init__(self, width: int, scales: int = 3) -> None:
        super().__init__()
        self.filters = nn.ModuleList([nn.Conv2d(3, width, 7, padding=3, padding_mode="reflect") for _ in range(scales)])
        for layer in self.filters:
            nn.init.orthogonal_(layer.weight)
        self.requires_grad_(False)

    def forward(self, picture: Tensor) -> list[Tensor]:
        found = []
        for layer in self.filters:
            found.append(torch.relu(layer(picture - 0.5)))
            picture = F.avg_pool2d(picture, 2)
        return found


def correlations(features: Tensor) -> Tensor:
    """How often two features are there together, wherever that is: (1, C, H, W) to (C, C)."""
    flat = features.flatten(2)[0]
    return flat @ flat.t() / flat.shape[1]


class Canvas(nn.Module):
    """The picture that is painted."""

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        self.picture = nn.Parameter(start.clone())


def main() -> float:
    parser = options(__doc__, "style_transfer.pt", epochs=10)
    parser.add_argument("--content", type=Path, metavar="FILE", help="what is painted (default: a made landscape)")
    parser.add_argument("--style", type=Path, metavar="FILE", help="in whose manner (default: made stripes)")
    parser.add_argument("--size", type=int, default=96, help="pixels of a side")
    parser.add_argument("--width", type=int, default=48, help="features of each scale")
    parser.add_argument("--strength", type=float, default=300.0, help="how much the manner counts beside the content")
    parser.add_argument("--strokes", type=int, default=30, help="steps of an epoch")
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw content, style and painting")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    content = read(args.content, args.size) if args.content else made_content(args.size)
    style = read(args.style, args.size) if args.style else made_style(args.size)
    features, canvas = Features(args.width), Canvas(content)
    there, manner = features(content), [correlations(f) for f in features(style)]
    adam = optim.Adam(canvas.parameters(), lr=args.lr)
    course = Course(args, canvas=canvas, features=features, optimizer=adam)
    if args.resume:  # the filters of the checkpoint are those that the painting was begun with
        there, manner = features(content), [correlations(f) for f in features(style)]
    loss = torch.zeros(())
    for _ in course.epochs():
        for _ in course.batches(range(args.strokes), args.strokes):
            found = features(canvas.picture)
            kept = F.mse_loss(found[-1], there[-1])
            painted = sum((F.mse_loss(correlations(f), m) for f, m in zip(found, manner)), torch.zeros(()))
            loss = kept + args.strength * painted
            adam.zero_grad()
            loss.backward()
            adam.step()
            with torch.no_grad():
                canvas.picture.clamp_(0, 1)
        course.report(loss=loss.item(), content=kept.item(), style=painted.item())
    if args.plot:
        import pictures
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(9, 3))
        for axis, picture in zip(axes, (content, style, canvas.picture.detach())):
            axis.imshow(picture[0].permute(1, 2, 0).numpy())
            axis.axis("off")
        pictures.save(args.plot, figure)
    return loss.item()


if __name__ == "__main__":
    main()
