"""Times all_reduce of several sizes, and training steps, between processes of this machine, ours and another torch's.

python ci/bench_distributed.py --against /path/to/python   # an environment with the other torch

The two take turns, so that both meet the same load of the machine; the figures are the fastest of all rounds.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time

SIZES = {"4 B": 1, "1 MB": 1 << 18, "64 MB": 1 << 24}  # elements of float32
BARS = {"all_reduce": 0.7, "step": 0.5}  # the ratios that are asked for
ROUNDS, SECONDS = 7, 0.3


def nets():
    """Networks and the shape of a batch: those of the stored benchmarks, 784-500-10 and two convolutions."""
    from torch import nn

    return {
        "step of mlp500": (nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10)), (64, 784)),
        "step of mnist": (
            nn.Sequential(
                *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
                *(nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)),
            ),
            (64, 1, 28, 28),
        ),
    }


def step_of(net, shape):
    """A training step with averaged gradients."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(net)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y, loss = torch.randn(shape), torch.randint(10, (shape[0],)), torch.nn.CrossEntropyLoss()

    def step():
        sgd.zero_grad()
        loss(model(x), y).backward()
        sgd.step()

    return step


def worker():
    """One rank: prints, on rank 0, seconds per call by size, the least of the rounds."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    times = {}
    work = {name: lambda x=torch.zeros(numel): dist.all_reduce(x) for name, numel in SIZES.items()}
    work |= {name: step_of(*net) for name, net in nets().items()}
    for name, call in work.items():
        for _ in range(3):
            call()
        began = time.perf_counter()
        call()
        calls = torch.tensor([max(1, int(SECONDS / (time.perf_counter() - began)))])
        dist.broadcast(calls, 0)
        rounds = []
        for _ in range(ROUNDS):
            dist.barrier()
            began = time.perf_counter()
            for _ in range(int(calls)):
                call()
            rounds.append((time.perf_counter() - began) / int(calls))
        times[name] = min(rounds)
    if dist.get_rank() == 0:
        print(json.dumps(times))
    dist.destroy_process_group()


def measure(python, ranks, environment):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = environment | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    command = [python, __file__, "--worker"]
    processes = [
        subprocess.Popen(command, env=common | {"RANK": str(r)}, stdout=subprocess.PIPE, text=True)
        for r in range(ranks)
    ]
    try:
        outputs = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return json.loads(outputs[0].splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--turns", type=int, default=3, help="how often each of the two is started (default: 3)")
    parser.add_argument("--against", help="python of an environment with another torch")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker()
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    print(
        f"{'':>14} {'ranks':>5} {'ours':>12}" + (f" {'theirs':>12} {'ratio':>7} {'bar':>5}" if options.against else "")
    )
    for ranks in options.ranks:
        ours, theirs = [], []
        for _ in range(options.turns):
            ours.append(measure(sys.executable, ranks, dict(os.environ)))
            if options.against:
                theirs.append(measure(options.against, ranks, clean))
        for name in ours[0]:
            mine = min(one[name] for one in ours)
            line = f"{name:>14} {ranks:>5} {mine * 1e6:12.1f}"
            if theirs:
                other = min(one[name] for one in theirs)
                bar = BARS["step" if name.startswith("step") else "all_reduce"]
                line += f" {other * 1e6:12.1f} {mine / other:7.2f} {bar:5.1f}"
            print(line, flush=True)
    print(f"all_reduce of float32 and training steps, microseconds; load of the machine {os.getloadavg()[0]:.2f}")
    return None


if __name__ == "__main__":
    main()
