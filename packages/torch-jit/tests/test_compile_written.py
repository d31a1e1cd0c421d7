"""Tensors that a compiled function writes to and that are no arguments: parameters, buffers, what functions around hold."""

import sys
import threading

import pytest
import torch


@pytest.fixture(autouse=True)
def _as_programs(monkeypatch):
    """Programs are run even where the function is faster as it was written."""
    monkeypatch.setattr(torch._dynamo.config, "choose_faster", False)


def captures(function):
    return function._compiled.captures if hasattr(function, "_compiled") else function._compiled_forward.captures


def pairs_of_norms():
    made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
    other.load_state_dict(made.state_dict())
    return made, other


def test_running_statistics_are_moved_once_for_each_batch_of_another_size():
    made, other = pairs_of_norms()
    compiled = torch.compile(made, fullgraph=True)
    for size in (4, 5, 6, 7, 3):
        x = torch.randn(size, 3)
        compiled(x).sum().backward(), other(x).sum().backward()
        for (name, a), b in zip(made.state_dict().items(), other.state_dict().values()):
            assert torch.equal(a, b), (size, name)
        assert all(torch.equal(a.grad, b.grad) for a, b in zip(made.parameters(), other.parameters()))
    assert captures(compiled) == 2


def test_a_cache_of_a_module_is_written_at_any_place():
    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("held", torch.zeros(9, 2))

        def forward(self, x, at):
            self.held[at : at + len(x)] = x
            return self.held[: at + 1].sum(0)

    one, two = Cache(), Cache()
    compiled = torch.compile(one, fullgraph=True)
    for at in range(1, 8):
        x = torch.randn(1, 2)
        assert torch.equal(compiled(x, at), two(x, at)) and torch.equal(one.held, two.held)
    assert captures(compiled) == 2


def test_what_is_written_to_and_saved_for_a_gradient_is_written_to_once():
    held, other = torch.ones(3), torch.ones(3)

    def decayed(x, by, held):
        held.mul_(by)
        return (x * held).sum()

    compiled = torch.compile(lambda x, by: decayed(x, by, held), fullgraph=True)
    for by in (0.5, 0.25, 0.75):
        x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
        compiled(x, by).backward(), decayed(y, by, other).backward()
        assert torch.equal(x.grad, y.grad) and torch.equal(held, other) and held._version == other._version


def averaged(net, other, by):
    with torch.no_grad():
        for a, b in zip(net.parameters(), other.parameters()):
            a.data.mul_(by).add_(b.data, alpha=1 - by)
        held = net.state_dict()
        for name, b in other.state_dict().items():
            if not b.dtype.is_floating_point:
                held[name].copy_(b)
        return held["1.running_mean"].clone()


def test_averages_of_weights_go_through_data_and_state():
    one, two = pairs_of_norms()
    other, _ = pairs_of_norms()
    compiled = torch.compile(averaged, fullgraph=True)
    for by in (0.9, 0.8, 0.7, 0.6):
        other(torch.randn(4, 3))
        assert torch.equal(compiled(one, other, by), averaged(two, other, by))
        for a, b in zip(one.state_dict().values(), two.state_dict().values()):
            assert torch.equal(a, b)
    assert captures(compiled) == 2


def test_writes_to_data_are_not_counted():
    def clamped(weight):
        weight.data.clamp_(-1, 1)
        return weight.data.norm()

    compiled = torch.compile(clamped, fullgraph=True)
    for _ in range(3):
        weight = torch.full((3,), 2.0, requires_grad=True)
        loss = weight.square().sum()
        assert torch.equal(compiled(weight), torch.ones(3).norm()) and weight._version == 0
        loss.backward()
        assert torch.equal(weight.grad, torch.full((3,), 2.0))


def test_data_that_is_written_to_beside_gradients_is_cut_around():
    def f(weight, x):
        loss = (weight * x).sum()
        weight.data.mul_(2)
        return loss

    with pytest.raises(torch._dynamo.exc.Unsupported, match="data is written to beside gradients"):
        torch.compile(f, fullgraph=True)(torch.ones(2, requires_grad=True), torch.ones(2))
    compiled = torch.compile(f)
    for _ in range(3):
        weight, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        compiled(weight, x).backward()
        assert torch.equal(x.grad, torch.full((2,), 2.0)) and torch.equal(weight, x.grad)


class Counted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, by):
        self.count += 1
        for _ in range(20):
            self.total.data.add_(by)
        return (x * self.total).sum() * by


def test_other_threads_never_see_what_is_tried():
    """Each call moves a count and a total on: who reads them meanwhile sees neither go back."""
    module, seen, stop = Counted(), [], threading.Event()

    def read():
        while not stop.is_set():
            now = module.count.item(), module.total[0].item()
            if not seen or seen[-1] != now:
                seen.append(now)

    reader, interval = threading.Thread(target=read), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader.start()
    try:
        for n in range(10):
            torch._dynamo.reset()
            compiled = torch.compile(module, fullgraph=True)
            for size, by in ((2, 1.0), (3 + n, 2.0), (5 + n, 3.0)):
                compiled(torch.ones(size, 3), by)
            assert captures(compiled) == 2
    finally:
        stop.set()
        reader.join()
        sys.setswitchinterval(interval)
    assert module.count == 30 and module.total.tolist() == [10 * 20 * 6.0] * 3
    assert seen == sorted(seen)


def test_memory_that_two_tensors_share_is_written_to_once():
    whole, other = torch.zeros(6), torch.zeros(6)

    def moved(x, by, whole, part):
        part.add_(x.sum(0) * by)
        whole[1:].mul_(by)
        return whole.sum() + part.sum()

    compiled = torch.compile(lambda x, by, w=whole, p=whole[2:4]: moved(x, by, w, p), fullgraph=True)
    for size, by in ((2, 0.5), (3, 0.25), (5, 2.0), (7, 3.0)):
        x = torch.ones(size, 2)
        assert torch.equal(compiled(x, by), moved(x, by, other, other[2:4])) and torch.equal(whole, other)


def test_what_runs_when_a_function_cannot_be_watched_again_changes_nothing_outside():
    held, other = torch.zeros(2), torch.zeros(2)

    def f(x, held):
        try:
            held.add_(1)
            return x.sum() * len(str(x.shape[0] * 7))
        finally:
            held.mul_(2)

    compiled = torch.compile(lambda x: f(x, held))
    for size in (2, 3, 5, 20):
        x = torch.ones(size)
        assert torch.equal(compiled(x), f(x, other)) and torch.equal(held, other), size


def test_threads_that_capture_at_once_find_programs_for_all_sizes():
    compiled, wrong, interval = torch.compile(lambda x, by: x * by + 1, fullgraph=True), [], sys.getswitchinterval()

    def work(seed):
        try:
            for i in range(20):
                x, by = torch.ones(2 + (7 * seed + i) % 23), i + 0.5
                if not torch.equal(compiled(x, by), x * by + 1):
                    wrong.append((seed, i))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    sys.setswitchinterval(1e-6)
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong and captures(compiled) <= 6
