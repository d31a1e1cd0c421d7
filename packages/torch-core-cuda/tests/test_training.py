"""Models train on CUDA as they do on the CPU: the same losses from the same seeds, dropout included."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

nn = pytest.importorskip("torch.nn")
optim = pytest.importorskip("torch.optim")
F = nn.functional

ROOT = Path(__file__).parents[3]


class Digits(nn.Module):
    """The network of examples/mnist."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5)
        self.conv2 = nn.Conv2d(16, 32, 5)
        self.drop = nn.Dropout(0.4)
        self.fc1 = nn.Linear(32 * 4 * 4, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(self.drop(x.flatten(1))))
        return F.log_softmax(self.fc2(self.drop(x)), dim=1)


class Language(nn.Module):
    """The model of examples/word_language_model."""

    def __init__(self, words=50, width=24):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, dropout=0.2)
        self.out = nn.Linear(width, words)
        self.out.weight = self.embed.weight

    def forward(self, x, state=None):
        y, state = self.lstm(self.drop(self.embed(x)), state)
        return self.out(self.drop(y)), state


def steps(model, optimizer, loss_of, count):
    """The losses of so many steps; the seed is that of dropout."""
    losses = []
    torch.manual_seed(3)
    for step in range(count):
        optimizer.zero_grad()
        loss = loss_of(model, step)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare(model, make_optimizer, loss_of, count, parameters=1e-4):
    there = copy.deepcopy(model).cuda()
    here = steps(model, make_optimizer(model.parameters()), loss_of("cpu"), count)
    losses = steps(there, make_optimizer(there.parameters()), loss_of("cuda"), count)
    assert losses == pytest.approx(here, rel=1e-4)
    for (name, p), q in zip(model.named_parameters(), there.parameters(), strict=True):
        assert q.is_cuda and torch.allclose(q.detach().cpu(), p.detach(), rtol=parameters, atol=parameters), name
    return here


def test_digits():
    torch.manual_seed(0)
    model, images, labels = Digits(), torch.randn(3, 8, 1, 28, 28), torch.randint(0, 10, (3, 8))

    def loss_of(device):
        x, y = images.to(device), labels.to(device)
        return lambda model, step: F.nll_loss(model(x[step]), y[step])

    compare(model, lambda p: optim.AdamW(p, lr=1e-3, weight_decay=1e-3), loss_of, 3, parameters=1e-3)


def test_language():
    torch.manual_seed(0)
    text = torch.randint(0, 50, (4, 7, 5))

    def loss_of(device):
        words, state = text.to(device), None

        def loss(model, step):
            nonlocal state
            if state is not None:
                state = (state[0].detach(), state[1].detach())
            logits, state = model(words[step, :-1], state)
            return F.cross_entropy(logits.flatten(0, 1), words[step, 1:].flatten())

        return loss

    losses = compare(Language(), lambda p: optim.SGD(p, lr=1.0, momentum=0.5), loss_of, 4)
    assert len(set(losses)) == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, foreach=True),
        lambda p: optim.Adam(p, lr=0.01, amsgrad=True, fused=True),
        lambda p: optim.Adadelta(p), lambda p: optim.Adagrad(p), lambda p: optim.Adamax(p), lambda p: optim.NAdam(p),
        lambda p: optim.RAdam(p), lambda p: optim.RMSprop(p, momentum=0.5, centered=True), lambda p: optim.Rprop(p),
        lambda p: optim.ASGD(p),
    ],
)  # fmt: skip
def test_optimizers(make):
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(6, 5)

    def loss_of(device):
        there = x.to(device)
        return lambda model, step: model(there).square().mean()

    compare(model, make, loss_of, 4)


def test_the_example_of_digits_learns_on_cuda_keeps_what_it_learned_and_goes_on(tmp_path):
    pytest.importorskip("tqdm")
    folder = tmp_path / "raw"
    folder.mkdir()
    for name, count in (("train", 48), ("t10k", 16)):
        pixels = bytes((i * 7) % 256 for i in range(count * 784))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(
            b"".join(n.to_bytes(4, "big") for n in (2051, count, 28, 28)) + pixels
        )
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(
            b"".join(n.to_bytes(4, "big") for n in (2049, count)) + bytes(i % 10 for i in range(count))
        )
    command = [sys.executable, "main.py", "--data", str(folder), "--batch-size", "16", "--steps", "1", "--quiet"]
    command += ["--shift", "0"]  # drawn on the CPU, where dropout would draw from the same numbers
    command += ["--checkpoint", str(tmp_path / "kept.pt"), "--epochs", "2"]
    said = {}
    for device in ("cpu", "cuda"):
        for more in (["--stop-after", "1"], ["--resume"]):
            done = subprocess.run(
                [*command, "--device", device, *more], cwd=ROOT / "examples/mnist", capture_output=True, text=True,
                timeout=300, env=os.environ,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            said.setdefault(device, []).append(
                [line.split(",")[0] for line in done.stdout.splitlines() if "loss" in line]
            )
    assert said["cpu"] == said["cuda"] and said["cpu"][1][0].startswith("epoch  2: loss")
    assert torch.load(tmp_path / "kept.pt")["net"]["fc2.weight"].is_cuda


def test_parameters_stay_the_same_objects_when_a_module_moves():
    model = Language()
    model(torch.zeros(2, 1, dtype=torch.int64))[0].sum().backward()
    optimizer, before = optim.SGD(model.parameters(), lr=0.1), list(model.parameters())
    model.cuda()
    assert all(p is q and p.is_cuda and p.grad.is_cuda for p, q in zip(model.parameters(), before, strict=True))
    assert model.out.weight is model.embed.weight
    old = model.embed.weight.detach().clone()
    model(torch.zeros(2, 1, dtype=torch.int64, device="cuda"))[0].sum().backward()
    optimizer.step()
    assert not torch.equal(model.embed.weight, old)
    model.cpu()
    assert before[0].device.type == "cpu" and before[0] is model.embed.weight


def test_data_of_another_layout_or_without_memory_is_refused():
    p = nn.Parameter(torch.ones(3, device="cuda"))
    for other in (torch.ones(3, device="meta"), torch.ones(3).to_sparse()):
        with pytest.raises(RuntimeError, match="same layout, and both or neither on the Meta device"):
            p.data = other


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_drops_the_same_again(reentrant):
    checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint

    def gradient(call):
        x = torch.arange(1.0, 65.0, device="cuda").requires_grad_()
        torch.manual_seed(1)
        (call(x) * torch.rand(64, device="cuda")).sum().backward()
        return x.grad, torch.rand(1, device="cuda")

    def part(x):
        return F.dropout(x * 2, 0.5, True).sin()

    for found, wanted in zip(
        gradient(lambda x: checkpoint(part, x, use_reentrant=reentrant)), gradient(part), strict=True
    ):
        assert torch.equal(found, wanted)
