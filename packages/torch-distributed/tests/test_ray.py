"""Ranks as actors of Ray, where it is installed; without it, what is told."""

import importlib.util
import os
import subprocess
import sys

import pytest
from torch.distributed.launcher import ray as launcher

LIMIT = 180  # seconds: a Ray cluster takes its time
PROGRAM = """
import os, sys, ray
from torch.distributed.launcher.ray import run
ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")

def work(scale, fail=""):
    import os, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if fail and rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if fail == "raise":
            raise ArithmeticError("two and two")
        os._exit(7)
    x = torch.tensor([rank + 1.0]) * scale
    dist.all_reduce(x)
    dist.destroy_process_group()
    return x.item(), rank, os.environ["LOCAL_RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]

assert run(work, 2, arguments=(2.0,)) == [(6.0, 0, "0", "0"), (6.0, 1, "1", "0")]
assert run(work, 2, arguments=(1.0, "exit"), max_restarts=1) == [(3.0, 0, "0", "1"), (3.0, 1, "1", "1")]
try:
    run(work, 2, arguments=(1.0, "raise"))
except ArithmeticError as error:
    assert "two and two" in str(error)
else:
    sys.exit("no error")
try:
    run(work, 2, arguments=(1.0,), resources={"num_cpus": 50}, placement_timeout=1)
except RuntimeError as error:
    assert "the Ray cluster has not had 2 times {'CPU': 50} within 1 s" in str(error)
else:
    sys.exit("no error")
print("fine")
"""


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray: pip install ray")
def test_ranks_on_ray_compute_together_and_are_started_again():
    environment = os.environ | {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=170, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "fine"


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RuntimeError, match="needs Ray .*pip install ray"):
        launcher.run(print, 2)


def test_places_of_ranks_on_machines():
    nodes = ["a", "b", "a", "b"]
    found = [launcher._environment(nodes, rank, ("a", 5), 1) for rank in range(4)]
    assert [(f["LOCAL_RANK"], f["GROUP_RANK"], f["LOCAL_WORLD_SIZE"]) for f in found] == [
        ("0", "0", "2"), ("0", "1", "2"), ("1", "0", "2"), ("1", "1", "2"),
    ]  # fmt: skip
    assert found[3]["MASTER_ADDR"] == "a"
