"""One job on "two machines": network namespaces with a cable between them, where they are permitted."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys, torch, torch.distributed as dist
from datetime import timedelta
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(seconds=15))
rank = dist.get_rank()
x = torch.arange(100_000.0) + rank
dist.all_reduce(x)
assert torch.equal(x, torch.arange(100_000.0) * 4 + 6)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
model(torch.full((1, 2), float(rank))).sum().backward()
assert model.module.weight.grad.tolist() == [[1.5, 1.5]]
everyone = [None] * 4
dist.all_gather_object(everyone, rank)
assert everyone == [0, 1, 2, 3]
sys.stdout.write("ready\\n")  # in one piece, beside other ranks
sys.stdout.flush()
if sys.argv[1] == "cut":
    try:
        while True:
            dist.all_reduce(x)
    except dist.DistBackendError as error:
        print(error, flush=True)
        sys.exit(3)
dist.destroy_process_group()
"""


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)


@pytest.fixture
def machines():
    """The names of two namespaces, 10.77.0.1 and 10.77.0.2."""
    if shutil.which("ip") is None:
        pytest.skip("needs ip (iproute2)")
    names = [f"torch{os.getpid()}{end}" for end in "ab"]
    if ip("netns", "add", names[0], check=False).returncode:
        pytest.skip("network namespaces are not permitted here")
    try:
        ip("netns", "add", names[1])
        cables = [f"tv{os.getpid() % 100000}{end}" for end in "ab"]
        ip("link", "add", cables[0], "netns", names[0], "type", "veth", "peer", "name", cables[1], "netns", names[1])
        for i, (name, cable) in enumerate(zip(names, cables, strict=True), 1):
            ip("-n", name, "addr", "add", f"10.77.0.{i}/24", "dev", cable)
            ip("-n", name, "link", "set", cable, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names, cables
    finally:
        for name in names:
            for process in ip("netns", "pids", name, check=False).stdout.split():  # what a failed test left running
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            ip("netns", "del", name, check=False)


def torchrun(machine, number, *arguments):
    command = ["ip", "netns", "exec", machine, sys.executable, "-m", "torch.distributed.run", "--nnodes", 2,
               "--nproc-per-node", 2, "--node-rank", number, "--master-addr", "10.77.0.1", "--master-port", 29511,
               *arguments]  # fmt: skip
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_four_ranks_on_two_machines_train_together(machines, tmp_path):
    names, _ = machines
    (tmp_path / "job.py").write_text(PROGRAM)
    agents = [torchrun(name, i, tmp_path / "job.py", "stay") for i, name in enumerate(names)]
    for agent in agents:
        out, err = agent.communicate(timeout=80)
        assert agent.returncode == 0, err
        assert out.count("ready") == 2


def test_a_machine_that_loses_its_power_is_named(machines, tmp_path):
    names, _ = machines
    (tmp_path / "job.py").write_text(PROGRAM)
    agents = [torchrun(name, i, tmp_path / "job.py", "cut") for i, name in enumerate(names)]
    for agent in agents:
        assert agent.stdout.readline() == "ready\n"
    time.sleep(0.3)
    processes = ip("netns", "pids", names[1]).stdout.split()
    for process in processes:
        os.kill(int(process), signal.SIGKILL)
    out, _ = agents[0].communicate(timeout=80)
    agents[1].communicate()
    assert agents[0].returncode == 1
    assert "died, or its connection broke" in out
