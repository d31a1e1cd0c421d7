"""A residual network (He 2016) tells apart what is in pictures that lie in folders, one folder for each class.

python main.py                     # draws 1,600 pictures of discs, squares, triangles and rings, and learns them
python main.py --data FOLDER       # your own: FOLDER/train/CLASS/*.png and FOLDER/test/CLASS/*.png, of one size
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader
from torch.utils.data.datasets import ImageFolder

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options

SHAPES = ["disc", "ring", "square", "triangle"]


class Block(nn.Module):
    """Two convolutions beside a shortcut, which a third fits where the shape changes."""

    def __init__(self, into: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(into, out, 3, stride, padding=1, bias=False)
        self.second = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        same = into == out and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(into, out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.norm1(self.first(x)))
        return torch.relu(self.norm2(self.second(h)) + self.shortcut(x))


class ResNet(nn.Sequential):
    """Images (N, 3, H, W) to logits (N, classes): a stem, stages that each halve the size, a mean over places."""

    def __init__(self, classes: int, width: int = 16, depth: int = 1, stages: int = 3) -> None:
        widths = [width * 2**i for i in range(stages)]
        blocks: list[nn.Module] = []
        for i, out in enumerate(widths):
            into = widths[max(0, i - 1)]
            blocks += [Block(into, out, 2 if i else 1), *(Block(out, out) for _ in range(depth - 1))]
        super().__init__(
            *(nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *blocks,
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes)),
        )


def drawn(shape: str, size: int) -> Tensor:
    """A picture (size, size, 3) of a shape of any colour, place and size, before another colour and with grain."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    radius = 0.3 + 0.3 * torch.rand(())
    dy, dx = (torch.rand(2) - 0.5) * (1 - radius)
    y, x = (y - dy) / radius, (x - dx) / radius
    away = (x * x + y * y).sqrt()
    inside = {
        "disc": away < 1,
        "ring": (away < 1) & (away > 0.6),
        "square": (x.abs() < 0.85) & (y.abs() < 0.85),
        "triangle": (y < 0.8) & (y > 2 * x.abs() - 1),
    }[shape]
    front, back = torch.rand(3), torch.rand(3)
    back = torch.where((front - back).abs().sum() < 0.8, 1 - front, back)
    picture = torch.where(inside.unsqueeze(-1), front, back) + 0.08 * torch.randn(size, size, 3)
    return (picture.clamp(0, 1) * 255).byte()


def draw_all(folder: Path, each: int, size: int) -> None:
    """Files folder/train/CLASS/N.png and folder/test/CLASS/N.png, a fifth of them for the test."""
    from PIL import Image

    for shape in SHAPES:
        for n in range(each):
            path = folder / ("test" if n % 5 == 0 else "train") / shape / f"{n:04}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(drawn(shape, size).numpy()).save(path)


def scaled(image: Tensor) -> Tensor:
    """Bytes to numbers around 0."""
    return image.float() / 127.5 - 1


def flipped(images: Tensor) -> Tensor:
    """Half of the pictures as a mirror shows them."""
    which = torch.rand(len(images)) < 0.5
    return torch.where(which.view(-1, 1, 1, 1), images.flip(-1), images)


@torch.no_grad()
def accuracy(net: nn.Module, loader: DataLoader) -> float:
    net.eval()
    right = [(net(images).argmax(1) == labels) for images, labels in loader]
    return torch.cat(right).float().mean().item()


def main() -> float:
    parser = options(__doc__, "image_classification.pt", epochs=4)
    parser.add_argument("--data", type=Path, help="folder of folders of images (default: draw some)")
    parser.add_argument("--drawn", type=Path, default=Path("runs/shapes"), help="where drawn pictures go")
    parser.add_argument("--images", type=int, default=400, help="pictures to draw of each class")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--width", type=int, default=16, help="channels of the first stage")
    parser.add_argument("--depth", type=int, default=1, help="blocks of a stage")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0, help="processes that decode pictures")
    parser.add_argument("--lr", type=float, default=4e-3)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    folder = args.data or args.drawn
    if args.data is None and not args.resume:
        draw_all(folder, args.images, args.size)
    train, test = (ImageFolder(folder / part, transform=scaled) for part in ("train", "test"))
    net = ResNet(len(train.classes), args.width, args.depth)
    adam = optim.AdamW(net.parameters(), lr=args.lr)
    course = Course(args, net=net, optimizer=adam)
    print(
        f"{len(train)} pictures of {', '.join(train.classes)}; {sum(p.numel() for p in net.parameters()):,} parameters"
    )
    right = 0.0
    for _ in course.epochs():
        net.train()
        loader: DataLoader = DataLoader(train, args.batch_size, shuffle=True, drop_last=True, num_workers=args.workers)
        total, count = 0.0, 0
        for images, labels in course.batches(loader, len(loader)):
            loss = F.cross_entropy(net(flipped(images)), labels)
            adam.zero_grad()
            loss.backward()
            adam.step()
            total, count = total + loss.item(), count + 1
        right = accuracy(net, DataLoader(test, 100))
        course.report(loss=total / max(count, 1), unseen_right=right)
    return right


if __name__ == "__main__":
    main()
