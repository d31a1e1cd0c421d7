"""Programs as people write them: models, training, data, checkpoints, hooks. Type checkers must find nothing here."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Variable
from torch.optim import SGD, Adam
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LambdaLR, MultiStepLR, ReduceLROnPlateau, StepLR
from torch.utils.checkpoint import checkpoint
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)


class Block(nn.Module):
    def __init__(self, channels: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(dropout)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(1), persistent=False)

    def forward(self, x: Tensor, skip: Tensor | None = None) -> Tensor:
        y: Tensor = self.drop(F.relu(self.norm(self.conv(x)), inplace=True)) * self.scale
        return y if skip is None else y + skip


class Net(nn.Module):
    seen: Tensor

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, kernel_size=3, stride=2), nn.ReLU(), nn.MaxPool2d(2))
        self.blocks = nn.ModuleList(Block(8) for _ in range(2))
        self.heads = nn.ModuleDict({"label": nn.Linear(8, classes)})
        self.rnn = nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.embed = nn.Embedding(10, 8, padding_idx=0)
        self.apply(self.initialise)

    @staticmethod
    def initialise(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, images: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(images)
        for block in self.blocks:
            x = block(x, x)
        pooled = F.adaptive_avg_pool2d(x, 1).flatten(1)
        states, (hidden, cell) = self.rnn(self.embed(words))
        return self.heads["label"](pooled), states[:, -1] + hidden.sum() + cell.sum()

    def extra_repr(self) -> str:
        return f"training={self.training}"


class Squares(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.full((3,), float(index)), index * index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


class Odd(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        return iter([1, 3])


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        result: Tensor = grad * y
        return result


class Decay(torch.optim.Optimizer):
    def __init__(self, params: Any, lr: float = 1e-3) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.add_(p.grad, alpha=-group["lr"])


def collate(samples: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor]:
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])


def loaders() -> list[DataLoader[Any]]:
    data = TensorDataset(torch.randn(10, 4), torch.randint(0, 2, (10,)))
    train, test = random_split(data, [8, 2], generator=torch.Generator().manual_seed(0))
    both = ConcatDataset([train, test])
    x, y = data[0]
    print(x.shape, y.item(), len(both), len(train))
    return [
        DataLoader(data, batch_size=4, shuffle=True, num_workers=0, drop_last=True, pin_memory=False),
        DataLoader(Squares(), batch_size=2, collate_fn=collate),
        DataLoader(Stream(), batch_size=None),
        DataLoader(Subset(Squares(), [0, 2]), sampler=SubsetRandomSampler([0, 1])),
        DataLoader(Squares(), batch_sampler=BatchSampler(RandomSampler(Squares()), 2, False)),
        DataLoader(Squares(), sampler=WeightedRandomSampler([0.5] * 8, 4)),
        DataLoader(Squares(), sampler=SequentialSampler(Squares())),
        DataLoader(Squares(), sampler=Odd()),
    ]


def train(net: nn.Module, loader: DataLoader[Any], epochs: int = 2) -> float:
    optimizer = Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.01)
    schedule = StepLR(optimizer, step_size=1, gamma=0.5)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    running = 0.0
    net.train()
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
            optimizer.step()
            running += loss.item()
            if step % 10 == 0:
                print(f"{epoch} {step} {loss.item():.3f} {optimizer.param_groups[0]['lr']}")
        schedule.step()
        print(schedule.get_last_lr()[0])
    return running


@torch.no_grad()
def evaluate(net: nn.Module, loader: DataLoader[Any]) -> float:
    net.eval()
    right, count = 0, 0
    for x, y in loader:
        guess = net(x).argmax(dim=1)
        right += int((guess == y).sum().item())
        count += y.size(0)
    return right / count


def several_groups(net: Net) -> None:
    groups: list[dict[str, Any]] = [{"params": net.stem.parameters(), "lr": 0.1}, {"params": net.blocks.parameters()}]
    optimizer = SGD(groups, lr=0.01, momentum=0.9, nesterov=True)
    for schedule in (
        LambdaLR(optimizer, lr_lambda=lambda epoch: 0.9**epoch),
        MultiStepLR(optimizer, milestones=[1, 2], gamma=0.1),
        ExponentialLR(optimizer, 0.9),
        CosineAnnealingLR(optimizer, T_max=10),
    ):
        schedule.step()
    ReduceLROnPlateau(optimizer, mode="min", patience=2).step(0.5)
    optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)]})

    def closure() -> float:
        optimizer.zero_grad()
        return 0.0

    optimizer.step(closure)
    optimizer.load_state_dict(optimizer.state_dict())
    torch.optim.LBFGS(net.parameters(), lr=1, max_iter=5).step(closure)
    for cls in (torch.optim.Adadelta, torch.optim.Adagrad, torch.optim.Adamax, torch.optim.ASGD, torch.optim.RMSprop):
        cls(net.parameters(), lr=0.01)
    torch.optim.AdamW(net.named_parameters(), lr=1e-3, fused=False)
    torch.optim.Rprop(net.parameters())
    torch.optim.SparseAdam(list(net.parameters()))


def save_and_load(net: Net, path: str) -> None:
    torch.save({"net": net.state_dict(), "epoch": 3}, path)
    saved = torch.load(path, map_location="cpu", weights_only=True)
    net.load_state_dict(saved["net"], strict=False)
    epoch: int = saved["epoch"]
    torch.save(net, path)
    whole = torch.load(path, map_location=lambda storage, location: storage)
    print(epoch, whole)


def walk(net: Net) -> int:
    for name, parameter in net.named_parameters():
        parameter.requires_grad = "stem" not in name
        parameter.requires_grad_(True)
    for path, module in net.named_modules():
        print(path, type(module).__name__)
    for child_name, child in net.named_children():
        print(child_name, child.training)
    for buffer in net.buffers():
        buffer.zero_()
    print(net.stem[0], len(net.blocks), net.heads["label"], list(net.heads.keys()), list(net.stem))
    net.to("cpu").float().double().half().cpu().train().eval().requires_grad_(False).share_memory()
    net.to(torch.device("cpu"), dtype=torch.float32)
    net.add_module("extra", nn.Identity())
    net.register_parameter("none", None)
    return sum(p.numel() for p in net.parameters() if p.requires_grad)


def hooks(net: Net, x: Tensor) -> None:
    kept: dict[str, Tensor] = {}

    def after(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        kept["output"] = output.detach()

    def before(module: nn.Module, args: tuple[Any, ...]) -> None:
        print(len(args))

    handles = [net.stem.register_forward_hook(after), net.stem.register_forward_pre_hook(before)]
    x.register_hook(lambda grad: grad * 2)
    for handle in handles:
        handle.remove()


def gradients(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = Exponential.apply(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.autograd.backward([first.sum()], retain_graph=True)
    assert x.grad is not None
    x.grad.zero_()
    with torch.no_grad():
        x -= 0.1 * first
    with torch.enable_grad(), torch.set_grad_enabled(True):
        z = (x * 2).sum()
    with torch.autograd.detect_anomaly():
        z.backward()
    with torch.inference_mode():
        x + 1
    torch.autograd.gradcheck(torch.sin, (x.double(),), eps=1e-6)
    with torch.autograd.profiler.profile() as profile:
        x.sin()
    print(profile.key_averages().table(sort_by="cpu_time_total"))
    again: Tensor = checkpoint(torch.sin, x, use_reentrant=False)
    Variable(x)
    return again


def sequences(lengths: Tensor) -> Tensor:
    padded = nn.utils.rnn.pad_sequence([torch.ones(3, 2), torch.ones(2, 2)], batch_first=True)
    packed = nn.utils.rnn.pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
    output, hidden = nn.GRU(2, 4)(packed)
    unpacked, sizes = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    print(sizes.tolist(), hidden.shape)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    attended, weights = attention(unpacked, unpacked, unpacked, need_weights=True)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, dim_feedforward=8), num_layers=2)
    print(weights.shape, encoder(attended).shape)
    result: Tensor = attended[0]
    return result


class OnDevice(Net):
    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


@torch.compile(fullgraph=True)
def doubled(x: Tensor) -> Tensor:
    return 2 * x


def programs(net: Net, x: Tensor) -> Tensor:
    compiled = torch.compile(net, mode="default")
    traced = torch.jit.trace(net, x)
    torch.jit.script(net)
    print(sum(p.numel() for p in compiled.parameters()), traced(x), nn.Module.parameters(net))
    return doubled(x)
