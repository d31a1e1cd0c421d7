"""Times a few dozen things that programs do, and keeps the figures from which the site makes its page.

    python ci/benchmarks.py --against OTHER/bin/python        # writes docs/benchmarks.json
    python ci/benchmarks.py --list

Both sides run the same lines, in turns (A B A B ...), on one thread unless --threads says otherwise; a figure is the least
median of the rounds, since whatever else a machine does only adds to it.  The load of the machine is kept beside them.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

STORE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.json"
SAMPLE = 4e-3  # seconds at least, so that the clock and the loop do not count

# group, what, setup (with torch, nn and F at hand), the line that is timed
CASES = [
    ("small operations", "add two numbers", "x = torch.ones(())", "x + x"),
    ("small operations", "add two numbers, recorded", "x = torch.ones((), requires_grad=True)", "x + x"),
    ("small operations", "a view", "x = torch.ones(4, 4)", "x[1]"),
    ("small operations", "a tensor of a list", "", "torch.tensor([1.0, 2.0, 3.0])"),
    ("small operations", "backward through 100 additions", "x = torch.ones((), requires_grad=True)",
     "y = x\nfor _ in range(100):\n    y = y + x\ny.backward()"),
    ("element by element", "add, 1,000,000 numbers", "x, y = torch.ones(10**6), torch.ones(10**6)", "x + y"),
    ("element by element", "exp, 1,000,000", "x = torch.linspace(-5, 5, 10**6)", "x.exp()"),
    ("element by element", "tanh, 1,000,000", "x = torch.linspace(-5, 5, 10**6)", "x.tanh()"),
    ("element by element", "rows times columns, 1000 x 1000", "x, y = torch.ones(1000, 1), torch.ones(1, 1000)", "x * y"),
    ("reductions and sorting", "sum, 1,000,000", "x = torch.ones(10**6)", "x.sum()"),
    ("reductions and sorting", "sum of columns, 1000 x 1000", "x = torch.ones(1000, 1000)", "x.sum(0)"),
    ("reductions and sorting", "softmax, 1000 x 1000", "x = torch.randn(1000, 1000)", "x.softmax(1)"),
    ("reductions and sorting", "sort, 100,000", "x = torch.randn(10**5)", "x.sort()"),
    ("reductions and sorting", "top 10 of 100,000", "x = torch.randn(10**5)", "x.topk(10)"),
    ("indexing and copies", "gather of 100,000 rows", "x = torch.randn(1000, 16); i = torch.randint(1000, (10**5,))", "x[i]"),
    ("indexing and copies", "transpose, 1000 x 1000", "x = torch.randn(1000, 1000)", "x.t().contiguous()"),
    ("indexing and copies", "concatenate 10 of 100,000", "x = [torch.randn(10**5) for _ in range(10)]", "torch.cat(x)"),
    ("products", "matrices, 64 x 64", "x = torch.randn(64, 64)", "x @ x"),
    ("products", "matrices, 512 x 512", "x = torch.randn(512, 512)", "x @ x"),
    ("products", "matrices in float64, 512 x 512", "x = torch.randn(512, 512, dtype=torch.float64)", "x @ x"),
    ("products", "batch of 64, 32 x 32", "x = torch.randn(64, 32, 32)", "x @ x"),
    ("convolutions", "3 x 3, 64 channels, 28 x 28", "x = torch.randn(8, 64, 28, 28); w = torch.randn(64, 64, 3, 3)",
     "F.conv2d(x, w, padding=1)"),
    ("convolutions", "the same, with gradients", "x = torch.randn(8, 64, 28, 28, requires_grad=True); "
     "w = torch.randn(64, 64, 3, 3, requires_grad=True)", "F.conv2d(x, w, padding=1).sum().backward()"),
    ("convolutions", "depthwise 3 x 3, 64 channels", "x = torch.randn(8, 64, 28, 28); w = torch.randn(64, 1, 3, 3)",
     "F.conv2d(x, w, padding=1, groups=64)"),
    ("convolutions", "largest of 2 x 2", "x = torch.randn(8, 64, 28, 28)", "F.max_pool2d(x, 2)"),
    ("steps of training", "two layers of 500, Adam",
     "net = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10)); "
     "o = torch.optim.Adam(net.parameters()); x = torch.randn(64, 784); y = torch.randint(10, (64,))",
     "o.zero_grad(); F.cross_entropy(net(x), y).backward(); o.step()"),
    ("steps of training", "convolutions on digits, SGD",
     "net = nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), "
     "nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 10)); o = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9); "
     "x = torch.randn(32, 1, 28, 28); y = torch.randint(10, (32,))",
     "o.zero_grad(); F.cross_entropy(net(x), y).backward(); o.step()"),
    ("steps of training", "LSTM, 20 steps of 64",
     "net = nn.LSTM(64, 64); x = torch.randn(20, 16, 64)", "net.zero_grad(); net(x)[0].sum().backward()"),
    ("steps of training", "a layer of a transformer, 32 x 64",
     "net = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0); x = torch.randn(32, 8, 64)",
     "net.zero_grad(); net(x).sum().backward()"),
]  # fmt: skip
IMPORT = ("the program", "import torch")


def measure(setup: str, line: str, seconds: float) -> float:
    """Seconds for a line, the median of samples."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    space = {"torch": torch, "nn": nn, "F": nn.functional}
    exec(setup, space)
    body = "".join(f"        {part}\n" for part in line.split("\n"))
    exec(f"def run(count):\n    for _ in range(count):\n{body}", space)
    run = space["run"]
    count = 1
    while True:
        began = time.perf_counter()
        run(count)
        took = time.perf_counter() - began
        if took >= SAMPLE:
            break
        count = max(count + 1, min(10 * count, int(1.2 * count * SAMPLE / max(took, 1e-9))))
    samples, deadline = [], time.perf_counter() + seconds
    while len(samples) < 3 or time.perf_counter() < deadline:
        began = time.perf_counter()
        run(count)
        samples.append((time.perf_counter() - began) / count)
    return statistics.median(samples)


def worker(threads: int, seconds: float) -> None:
    """Print the figures of all cases, and what was measured."""
    import torch

    torch.set_num_threads(threads)
    figures = [measure(setup, line, seconds) for _, _, setup, line in CASES]
    print(json.dumps({"version": torch.__version__, "figures": figures}))


def side(python: str, arguments: list[str], environment: dict) -> dict:
    done = subprocess.run([python, __file__, "--worker", *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"benchmarks: {python} failed:\n{done.stderr[-3000:]}")
    result = json.loads(done.stdout.splitlines()[-1])
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([python, "-c", "import torch"], check=True, env=environment)
        imported = time.perf_counter() - began
        began = time.perf_counter()
        subprocess.run([python, "-c", "pass"], check=True, env=environment)
        times.append(imported - (time.perf_counter() - began))
    result["figures"].append(max(0.0, min(times)))
    return result


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown"


def least(rounds: list[dict]) -> list[float]:
    return [min(one["figures"][i] for one in rounds) for i in range(len(CASES) + 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", required="--worker" not in sys.argv and "--list" not in sys.argv)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each case and round")
    parser.add_argument("--out", type=Path, default=STORE)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        print(*(f"{group}: {what}" for group, what, _, _ in CASES), sep="\n")
        return
    if options.worker:
        worker(options.threads, options.seconds)
        return
    arguments = ["--threads", str(options.threads), "--seconds", str(options.seconds)]
    ours = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    clean = {k: v for k, v in ours.items() if k != "PYTHONPATH"}
    sides: tuple[list, list] = ([], [])
    loads = []
    for _ in range(options.rounds):
        loads.append(os.getloadavg()[0])
        sides[0].append(side(sys.executable, arguments, ours))
        sides[1].append(side(options.against, arguments, clean))
    names = [(group, what, line) for group, what, _, line in CASES] + [(*IMPORT, "import torch")]
    rows = [
        {"group": group, "what": what, "line": line, "ours": mine, "other": theirs}
        for (group, what, line), mine, theirs in zip(names, least(sides[0]), least(sides[1]), strict=True)
    ]
    about = {
        "day": datetime.date.today().isoformat(),
        "processor": processor(),
        "processors": os.cpu_count(),
        "threads": options.threads,
        "rounds": options.rounds,
        "load": [round(load, 1) for load in loads],
        "python": sys.version.split()[0],
        "ours": sides[0][0]["version"],
        "other": sides[1][0]["version"],
    }
    options.out.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    for row in rows:
        print(f"{row['ours'] / row['other']:6.2f}  {row['group']}: {row['what']}")


if __name__ == "__main__":
    main()
