"""Several Python threads at once: what they share may get a wrong number, never a crash, and messages name the thread's own
lines."""

import inspect
import os
import subprocess
import sys
import threading

import pytest
import torch


def test_a_message_names_the_line_of_the_thread_that_ran_the_operator():
    done = threading.Event()

    def spin(n=0):  # Python code in another thread while operators run without the GIL
        while not done.is_set():
            n = sum(range(50))
        return n

    others = [threading.Thread(target=spin) for _ in range(2)]
    for thread in others:
        thread.start()
    source, first = inspect.getsourcelines(test_a_message_names_the_line_of_the_thread_that_ran_the_operator)
    marked = [first + i for i, line in enumerate(source) if line.rstrip().endswith(("# saves", "# changes"))]
    wrong = []
    try:
        torch.ones(2, requires_grad=True).exp()  # with the GIL: from here on this function is known
        w = torch.ones(50000, requires_grad=True)
        for _ in range(15):
            x = w * 1
            y = x.exp()  # saves
            y.mul_(2)  # changes
            try:
                y.sum().backward()
            except RuntimeError as error:
                text = str(error)
                wrong += [text for line in marked if f"test_threads.py:{line}" not in text]
            else:
                wrong.append("no error")
    finally:
        done.set()
        for thread in others:
            thread.join()
    assert not wrong, wrong[0]


#: Programs whose threads share one thing without any order. Errors about what was changed meanwhile are fine.
SHARED = """
import faulthandler, os, random, sys, threading, time
import torch
from torch import nn

faulthandler.enable()
N = int(sys.argv[2])


def hogwild():
    model = nn.Sequential(nn.Linear(N, N), nn.ReLU(), nn.Linear(N, N))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9)

    def step():
        optimizer.zero_grad(set_to_none=random.random() < 0.5)
        model(torch.randn(32, N)).pow(2).mean().backward()
        optimizer.step()

    return [step] * 4


def memory():
    x = torch.randn(N * N)

    def read():
        (x + x).sum(), x.clone().sort(), x.view(-1).sum()

    def write():
        size = random.choice([5, N * N, 10 * N * N])
        change = random.randrange(6)
        if change == 0:
            x.data = torch.randn(size)
        elif change == 1:
            x.set_(torch.randn(size))
        elif change == 2:
            x.resize_(size)
        elif change == 3:
            x.data = torch.randn(2, 1, 2, 1, 2, 1, N)
        elif change == 4:
            x.unsqueeze_(0)
        else:
            torch.neg(torch.randn(size), out=x)

    return [read, read, write, write]


def views():
    w = torch.randn(N * N // 4, requires_grad=True)
    base = torch.zeros(4, N * N // 4) * 1
    view = base[0]
    base.add_(w)

    def read():
        (view * 2).sum(), view.grad_fn, base.sum()

    def write():
        base[1].mul_(w), base.mul_(1.0), view.mul_(1.0)

    def backward():
        (view * w).sum().backward()

    return [read, read, write, write, backward]


def leaves():
    x = torch.randn(N * N, requires_grad=True)

    def use():
        (x * x).sum().backward()

    def change():
        x.requires_grad_(random.random() < 0.5)
        x.grad = None
        x.data = torch.randn(random.choice([N, N * N]))

    return [use, use, change]


def profiled():
    w = torch.randn(N * N, requires_grad=True)

    def profile():
        with torch.autograd.profiler.profile(record_shapes=True, profile_memory=True, with_stack=random.random() < 0.5):
            time.sleep(0.002)

    def compute():
        (w * 2).exp().sum().backward(), sum(range(100))

    return [profile, compute, compute]


def run(functions, seconds):
    end, passes, unexpected = time.monotonic() + seconds, [0] * len(functions), []

    def loop(number, function):
        while time.monotonic() < end:
            try:
                function()
                passes[number] += 1
            except (RuntimeError, IndexError):
                pass
            except BaseException as error:
                unexpected.append(repr(error))
                return

    threads = [threading.Thread(target=loop, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)
        assert not thread.is_alive(), "stands still"
    assert not unexpected, unexpected
    print(passes)


torch.manual_seed(0)
run(globals()[sys.argv[1]](), float(sys.argv[3]))
"""


@pytest.mark.parametrize("size", [20, 200])
@pytest.mark.parametrize("what", ["hogwild", "memory", "views", "leaves", "profiled"])
def test_threads_that_share_without_order_do_not_crash(what, size):
    """0.4 seconds each; TORCH_STRESS_SECONDS=60 for more."""
    if what == "hogwild":
        pytest.importorskip("torch.optim")
        pytest.importorskip("torch.nn")
    program = SHARED if what == "hogwild" else SHARED.replace("from torch import nn\n", "")
    seconds = os.environ.get("TORCH_STRESS_SECONDS", "0.4")
    done = subprocess.run(
        [sys.executable, "-c", program, what, str(size), seconds],
        capture_output=True, text=True, timeout=float(seconds) + 120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
