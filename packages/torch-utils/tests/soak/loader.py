"""A loader under fire: workers are killed, stopped and signalled at random while samples are slow or raise.

Run by name; the test suite runs a short one:

    python packages/torch-utils/tests/soak/loader.py --batches 200000 --workers 4
    python packages/torch-utils/tests/soak/loader.py --batches 200000 --workers 4 --kind thread

Every batch is checked. At the end each entry of the sampler must be accounted for: it came, it raised what it should, or
it was being made by a worker that was killed (at most one for each kill). Memory, descriptors, processes and shared
memory are looked at all along and must not grow. Exit status 1 when anything is wrong.
"""

import argparse
import collections
import gc
import os
import random
import signal
import sys
import threading
import time
import warnings

import torch
import torch.multiprocessing
from torch.utils.data import DataLoader, Dataset

SIZE = 1 << 16
WIDTH = 300
# The first five end a worker; it must live through the others.
DEADLY = (signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGBUS)
HARMLESS = (signal.SIGINT, signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP)


class Samples(Dataset):
    """Sample i is (i, a row that i decides, a text); a few are slow, a few raise."""

    def __init__(self, slow: float, seconds: float, raising: float):
        self.slow, self.seconds, self.raising = slow, seconds, raising

    def __len__(self):
        return SIZE

    def fails(self, i: int) -> bool:
        return (i * 7919) % 10_007 < self.raising * 10_007

    def __getitem__(self, i):
        if self.fails(i):
            raise ValueError(f"sample {i} is bad")
        if random.random() < self.slow:
            time.sleep(random.random() * self.seconds)
        return i, torch.full((WIDTH,), float(i)), f"text {i}"


class Order:
    """A batch sampler: `count` batches of `size` indices, the same in every process that asks."""

    def __init__(self, count: int, size: int):
        self.count, self.size = count, size

    def indices(self, batch: int) -> list[int]:
        return [(batch * self.size + k) * 40_503 % SIZE for k in range(self.size)]

    def __iter__(self):
        return map(self.indices, range(self.count))

    def __len__(self):
        return self.count


class Figures(collections.namedtuple("Figures", "rss shared descriptors children zombies files")):
    """What this process uses: MB, MB of shared memory mapped, counts; `files` of it and of ended processes in /dev/shm."""

    @classmethod
    def now(cls):
        with open("/proc/self/status") as file:
            facts = dict(line.split(":", 1) for line in file)
        kilobytes = lambda name: int(facts[name].split()[0]) / 1024
        states = [state for state in map(_state, _children()) if state]
        return cls(
            round(kilobytes("RssAnon"), 1),
            round(kilobytes("RssShmem"), 1),
            len(os.listdir("/proc/self/fd")),
            len(states),
            states.count("Z"),
            len([name for name in os.listdir("/dev/shm") if name.startswith("torch_segment_") and _is_left(name)]),
        )


def _is_left(name: str) -> bool:
    """Whether this process or an ended one made the file; a living one removes it at its end."""
    pid = name.split("_")[2]
    return pid == str(os.getpid()) or not os.path.exists(f"/proc/{pid}")


def _children() -> list[str]:
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                found += file.read().split()
        except OSError:
            pass
    return found


def _state(pid: str) -> str | None:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


class Chaos(threading.Thread):
    """Sends signals to the workers of an iterator until told to stop."""

    def __init__(self, iterator, pause: float, seed: int):
        super().__init__(name="chaos", daemon=True)
        self.iterator, self.pause, self.random = iterator, pause, random.Random(seed)
        self.sent: collections.Counter = collections.Counter()
        self.killed: set[int] = set()  # pids; a busy machine is slow to see a death, and a second signal hits the same
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(self.random.expovariate(1 / self.pause)):
            workers = [w for w in list(self.iterator._workers) if not w.ended]
            if not workers:
                continue
            process = self.random.choice(workers).process
            what = self.random.choice(DEADLY if self.random.random() < 0.5 else HARMLESS)
            try:
                os.kill(process.pid, what)
                if what == signal.SIGSTOP:
                    time.sleep(self.random.random() * 0.05)
                    os.kill(process.pid, signal.SIGCONT)
            except ProcessLookupError:
                continue
            self.sent[what.name] += 1
            if what in DEADLY:
                self.killed.add(process.pid)


def check(number: int, batch, order: Order) -> None:
    indices = order.indices(number)
    got, rows, texts = batch
    assert got.tolist() == indices, f"batch {number}: {got.tolist()} came, not {indices}"
    assert rows.shape == (len(indices), WIDTH)
    assert (rows == got.to(torch.float32).unsqueeze(1)).all(), f"batch {number}: its rows are wrong"
    assert list(texts) == [f"text {i}" for i in indices], f"batch {number}: its texts are wrong"


def soak(args) -> int:
    data, order = Samples(args.slow, args.seconds, args.raising), Order(args.batches, args.batch_size)
    number_of = {tuple(order.indices(k)): k for k in range(min(args.batches, SIZE))}
    how = {"worker_kind": "thread"} if args.kind == "thread" else {"multiprocessing_context": args.method}
    torch.multiprocessing.set_sharing_strategy(args.strategy)
    if args.method != "fork":  # starts the resource tracker and the fork server, which stay
        process = torch.multiprocessing.get_context(args.method).Process(target=int)
        process.start()
        process.join()
    torch.empty(1).share_memory_()  # this process's own segment, so that the first look counts it
    before = Figures.now()
    loader = DataLoader(data, batch_sampler=order, num_workers=args.workers, in_order=not args.any_order, **how)
    iterator = iter(loader)
    chaos = Chaos(iterator, args.pause, args.seed)
    if args.kind == "process":
        chaos.start()
    came, raised, deaths, history = 0, 0, 0, []
    position, begin = 0, time.monotonic()
    seen = bytearray(args.batches)
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            break
        except ValueError as e:
            assert "is bad" in str(e) and "in __getitem__" in str(e), e
            raised += 1
            continue
        except RuntimeError as e:
            assert "DataLoader worker" in str(e) and "was" in str(e), e
            deaths += str(e).count("DataLoader worker")
            continue
        first = number_of[tuple(batch[0].tolist())]  # the order repeats after SIZE batches
        number = first if args.any_order else position + (first - position) % SIZE
        while seen[number] and args.any_order:
            number += SIZE
        assert not seen[number], f"batch {number} came twice"
        check(number, batch, order)
        position, seen[number] = number, 1
        came += 1
        if came % max(1, args.batches // 20) == 0:
            history.append(Figures.now())
            print(f"{came:8} batches {time.monotonic() - begin:7.1f} s {deaths:5} deaths {history[-1]}", flush=True)
    chaos.over.set()
    if args.kind == "process":
        chaos.join()
    del iterator, chaos.iterator, batch
    gc.collect()
    torch.multiprocessing._segments.sweep()
    after, seconds = Figures.now(), time.monotonic() - begin
    bad = sum(any(map(data.fails, order.indices(k))) for k in range(args.batches))
    lost = args.batches - came - raised
    print(
        f"came {came}, raised {raised} of {bad}, lost {lost} with {deaths} deaths in {seconds:.0f} s; sent {dict(chaos.sent)}"
    )
    print(f"before {before}\nafter  {after}")
    settled = history[len(history) // 4 :]
    # A fork server cannot hold back an interrupt that comes while a worker starts.
    most_deaths = len(chaos.killed) + chaos.sent["SIGINT"] * (args.method == "forkserver")
    problems = {
        "batches are missing": not 0 <= lost <= deaths,
        "batches that should raise did not": not bad - deaths <= raised <= bad,
        # All workers end at the end of the run, and what hits one then is not told.
        "deaths were not told": not len(chaos.killed) - args.workers <= deaths <= most_deaths,
        "descriptors were left open": after.descriptors > before.descriptors,
        "processes were left": after.children > before.children or after.zombies > 0,
        "files were left in /dev/shm": after.files > before.files,
        "memory grew": max(f.rss for f in settled[-3:]) > min(f.rss for f in settled) + 16,
        "shared memory grew": max(f.shared for f in settled[-3:]) > min(f.shared for f in settled) + 64,
        "descriptors grew": max(f.descriptors for f in history) > before.descriptors + 12 * args.workers,
    }
    for text in (text for text, wrong in problems.items() if wrong):
        print("WRONG:", text)
    return int(any(problems.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batches", type=int, default=200_000)
    parser.add_argument("--batch-size", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kind", choices=("process", "thread"), default="process")
    parser.add_argument("--method", choices=("fork", "spawn", "forkserver"), default="fork")
    parser.add_argument("--strategy", choices=("file_descriptor", "file_system"), default="file_descriptor")
    parser.add_argument("--any-order", action="store_true", help="in_order=False")
    parser.add_argument("--pause", type=float, default=0.2, help="mean seconds between signals")
    parser.add_argument("--slow", type=float, default=0.01, help="part of the samples that are slow")
    parser.add_argument("--seconds", type=float, default=0.02, help="the longest that a slow sample takes")
    parser.add_argument("--raising", type=float, default=0.001, help="part of the samples that raise")
    parser.add_argument("--seed", type=int, default=0)
    warnings.filterwarnings("ignore", "DataLoader: .* workers on")
    return soak(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
