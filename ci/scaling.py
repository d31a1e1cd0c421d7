"""How training would scale to 1,024 ranks, by arithmetic: measures this machine, and writes docs/scaling.md from it.

python ci/scaling.py measure    # docs/scaling.json, then the page
python ci/scaling.py            # the page, from the numbers that are stored
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMBERS, PAGE = ROOT / "docs" / "scaling.json", ROOT / "docs" / "scaling.md"
RANKS = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
MESSAGES = [4, 1 << 20, 1 << 26]  # bytes
MANY = 64  # messages at once
#: What a data sheet says of networks between machines: seconds for a message, seconds for a byte.
NETWORKS = {"10 Gbit/s Ethernet": (30e-6, 8 / 10e9), "100 Gbit/s with RDMA": (3e-6, 8 / 100e9)}


# ---- the arithmetic: seconds for all_reduce of n bytes by p ranks
# a: latency of a message, b: time of a byte on the way, g: time to add a byte, o: work of a rank for one more message


def direct(p, n, a, b, g, o):
    """Each rank sends every other its share, and the sum of its own share to all: what this package does.

    Of short tensors it sends all, in one round; to send and to receive are two messages for a rank, too.
    """
    return 2 * (a + (p - 2) * o) + (p - 1) / p * n * (2 * b + g)


def ring(p, n, a, b, g, o):
    """Shares go round once to be summed and once to be told."""
    return 2 * (p - 1) * a + (p - 1) / p * n * (2 * b + g)


def halving(p, n, a, b, g, o):
    """Halves are exchanged with ranks ever nearer, then told back (Rabenseifner 2004)."""
    return 2 * (p - 1).bit_length() * a + (p - 1) / p * n * (2 * b + g)


WAYS = {"direct": direct, "ring": ring, "halving": halving}


def efficiency(way, p, model, a, b, g, o):
    """The share of p machines' speed that a step with its averaged gradients has; sending goes on beside backward.

    The last bucket, of the layers nearest to the input, is full when backward is over: nothing hides it.
    """
    bucket = min(model["bytes"], 1 << 20)
    rest = way(p, model["bytes"] - bucket, a, b, g, o) if model["bytes"] > bucket else 0.0
    step = model["forward"] + max(model["backward"], rest) + way(p, bucket, a, b, g, o) + model["update"]
    return (model["forward"] + model["backward"] + model["update"]) / step


# ---- measuring


def median_time(call, seconds=0.3, rounds=7):
    call()
    began = time.perf_counter()
    call()
    count = max(1, int(seconds / rounds / (time.perf_counter() - began)))
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - began) / count)
    return statistics.median(found)


def timed_together(call, rounds=15, count=8):
    """As median_time, on ranks that have to make the same number of calls."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - began) / count)
    return statistics.median(found)


def rank_main():
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}
    for n in MESSAGES:
        x = torch.zeros(n // 4)

        def there_and_back(x=x):
            first, second = (dist.send, dist.recv) if rank == 0 else (dist.recv, dist.send)
            first(x, 1 - rank)
            second(x, 1 - rank)

        for _ in range(3):
            dist.all_reduce(x)
        count = 200 if n < 1 << 16 else 20 if n <= 1 << 20 else 2
        found[f"all_reduce {n}"] = timed_together(lambda x=x: dist.all_reduce(x), count=count)
        if size == 2:
            found[f"message {n}"] = timed_together(there_and_back, count=count) / 2
    if size == 2:
        many = [torch.zeros(1) for _ in range(MANY)]

        def at_once():
            calls = [dist.P2POp(op, x, 1 - rank, tag=i) for op in (dist.isend, dist.irecv) for i, x in enumerate(many)]
            for work in dist.batch_isend_irecv(calls):
                work.wait()

        found["further message"] = (timed_together(at_once, count=5) - found["message 4"]) / (MANY - 1)
    if rank == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def measured(ranks, tcp):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    if tcp:
        common["GLOO_SOCKET_IFNAME"] = "lo"
    processes = [
        subprocess.Popen([sys.executable, __file__, "rank"], env=common | {"RANK": str(r)}, stdout=subprocess.PIPE)
        for r in range(ranks)
    ]
    return json.loads([process.communicate()[0] for process in processes][0].splitlines()[-1])


def models():
    """Parameters and the time of a step, on one thread, of networks with a batch of 64."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    nets = {
        "mlp500: 784-500-10": (nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10)), (64, 784)),
        "mnist: two convolutions": (
            nn.Sequential(
                *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
                *(nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)),
            ),
            (64, 1, 28, 28),
        ),
    }
    found = {}
    for name, (net, shape) in nets.items():
        x, y = torch.randn(shape), torch.randint(10, (64,))
        sgd = torch.optim.SGD(net.parameters(), lr=0.01)
        loss = nn.CrossEntropyLoss()
        forward = median_time(lambda net=net, x=x, y=y, loss=loss: loss(net(x), y))
        both = median_time(lambda net=net, x=x, y=y, loss=loss: loss(net(x), y).backward())
        found[name] = {
            "bytes": 4 * sum(p.numel() for p in net.parameters()),
            "forward": forward,
            "backward": max(both - forward, 0.0),
            "update": median_time(sgd.step),
        }
    return found


def measure():
    import torch

    x, y = torch.zeros(1 << 18), torch.zeros(1 << 18)
    torch.set_num_threads(1)
    cpu = [
        line.split(": ")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    numbers = {
        "processor": cpu[0] if cpu else platform.machine(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "day": time.strftime("%Y-%m-%d"),
        "add": median_time(lambda: x.add_(y)) / (4 << 18),
        "one machine": {"2": measured(2, False), "4": measured(4, False)},
        "TCP": {"2": measured(2, True), "4": measured(4, True)},
        "models": models(),
    }
    NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n")


def constants(numbers, way):
    """a, b, g, o of one way to send, of messages between two ranks.

    Within a machine processors carry the bytes: what goes both ways at once takes twice as long as what goes one way.
    """
    two = numbers[way]["2"]
    a = two["message 4"]
    b = 2 * (two[f"message {MESSAGES[-1]}"] - a) / MESSAGES[-1]
    return a, b, numbers["add"], two["further message"]


def shared(numbers, p, constants):
    """The constants when p ranks share the processors of this machine."""
    return [x * max(1.0, p / numbers["processors"]) for x in constants]


# ---- the page


def said(seconds):
    return (
        f"{seconds * 1e6:.0f} µs"
        if seconds < 1e-3
        else f"{seconds * 1e3:.1f} ms"
        if seconds < 1
        else f"{seconds:.2f} s"
    )


def table(head, rows):
    return [
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * len(head),
        *("| " + " | ".join(r) + " |" for r in rows),
        "",
    ]


def page(numbers) -> str:
    ways = {name: constants(numbers, name) for name in ("one machine", "TCP")}
    g, o = ways["TCP"][2:]
    nets = ways | {name: (a, b, g, o) for name, (a, b) in NETWORKS.items()}
    lines = [
        "# Scaling, on paper",
        "",
        f"What was measured (by `python ci/scaling.py measure`, {numbers['day']}, {numbers['processors']} processors of a",
        f"{numbers['processor']}, load {numbers['load']:.1f}, one thread a rank), and what follows for up to 1,024 ranks if the model holds.",
        "More ranks than four were not run.",
        "",
        "A message of n bytes takes a + n b; adding takes g for a byte; each further message costs a rank o of work.",
        "",
        *table(
            ["between ranks", "a", "1 / b", "1 / g", "o"],
            [
                [name, said(a), f"{1 / b / 1e9:.2f} GB/s", f"{1 / g / 1e9:.1f} GB/s", said(o)]
                for name, (a, b, g, o) in nets.items()
            ],
        ),
        "The networks' a and b are those of data sheets, g and o were measured here.",
        "",
        "## Does the model hold where it can be checked?",
        "",
        *table(
            ["all_reduce", "ranks", "bytes", "measured", "model, direct"],
            [
                [
                    name,
                    p,
                    f"{n:,}",
                    said(numbers[name][p][f"all_reduce {n}"]),
                    said(direct(int(p), n, *shared(numbers, int(p), ways[name]))),
                ]
                for name in ways
                for p in ("2", "4")
                for n in MESSAGES
            ],
        ),
        "Ranks that share a processor are taken to share its time. Other work on the machine (see its load), and waiting for a rank",
        "that does not run just then, are not in the model.",
        "",
        "## all_reduce",
        "",
        "`direct` is what this package does: each rank sends every other its share, in one round. `ring` and `halving` are what",
        "larger groups use elsewhere.",
        "",
    ]
    for n in MESSAGES:
        lines += [f"Of {n:,} bytes:", ""]
        lines += table(
            ["network", "way", *(f"{p:,}" for p in RANKS if p in (2, 8, 64, 256, 1024))],
            [
                [name, way, *(said(WAYS[way](p, n, *nets[name])) for p in RANKS if p in (2, 8, 64, 256, 1024))]
                for name in nets
                if name != "one machine"
                for way in WAYS
            ],
        )
    lines += [
        "## Training",
        "",
        "The share of the ranks' speed that is left, when each has a batch of 64 and gradients are averaged beside backward",
        "(`DistributedDataParallel`), by the direct way and by the best of the three.",
        "",
    ]
    for name, model in numbers["models"].items():
        step = model["forward"] + model["backward"] + model["update"]
        lines += [f"{name}: {model['bytes'] / 1e6:.1f} MB of gradients, {said(step)} a step on one rank.", ""]
        lines += table(
            ["network", "way", *(f"{p:,}" for p in RANKS if p in (2, 8, 64, 256, 1024))],
            [
                [net, label]
                + [
                    f"{max(efficiency(way, p, model, *nets[net]) for way in some):.0%}"
                    for p in RANKS
                    if p in (2, 8, 64, 256, 1024)
                ]
                for net in nets
                if net != "one machine"
                for label, some in (("direct", [direct]), ("best", WAYS.values()))
            ],
        )
    lines += [
        "## What follows",
        "",
        "Bytes on the way hardly depend on the number of ranks, messages do: the direct way sends n - 1 from each rank, where halving",
        "sends log n. Of long tensors among up to some tens of ranks that makes little difference; of short ones it does from 8 ranks on,",
        "and at 1,024 the work for messages outweighs everything, and every rank would hold 1,023 connections. For groups of that",
        "size take backend `mpi`, whose library chooses among such ways by size, or `DistributedDataParallel` and `fully_shard` along",
        "the dims of a `DeviceMesh`. Small models do not fill a network whatever the way: their batch has to grow with the time that",
        "sending takes.",
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="?", choices=["page", "measure", "rank"], default="page")
    step = parser.parse_args().step
    if step == "rank":
        return rank_main()
    if step == "measure":
        measure()
    PAGE.write_text(page(json.loads(NUMBERS.read_text())))
    return None


if __name__ == "__main__":
    main()
