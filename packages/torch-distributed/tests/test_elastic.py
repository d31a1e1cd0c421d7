"""Machines that come and go, output to console and files, and what schedulers tell."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch.distributed as dist
from torch.distributed import _cluster
from torch.distributed.elastic.membership import Membership
from torch.distributed.elastic.rendezvous import RendezvousParameters, RendezvousTimeoutError
from torch.distributed.elastic.utils.distributed import get_free_port

JOB = """
import os, sys, time, torch, torch.distributed as dist
folder, wanted = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo")
x = torch.ones(1)
while True:  # until so many machines take part
    dist.all_reduce(x.fill_(1))
    open(f"{folder}/{dist.get_world_size()}.{dist.get_rank()}", "w").close()
    if dist.get_world_size() == wanted:
        break
    time.sleep(0.05)
dist.barrier()
dist.destroy_process_group()
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def agent(port, nnodes, host, *arguments, restarts=0):
    conf = f"last_call_timeout=0.5,keep_alive_timeout=8,join_timeout=60,is_host={int(host)}"
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes", nnodes, "--rdzv-backend", "c10d",
               "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-conf", conf, "--max-restarts", restarts, *arguments]  # fmt: skip
    return subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)


def finish(process, timeout=80):
    try:
        _, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, err


def wait_for(path, seconds=60):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.05)


def test_a_machine_that_comes_later_is_taken_in(tmp_path):
    job = tmp_path / "job.py"
    job.write_text(JOB)
    port = free_port()
    first = agent(port, "1:2", True, job, tmp_path, 2)
    wait_for(tmp_path / "1.0")
    second = agent(port, "1:2", False, job, tmp_path, 2)
    for code, err in (finish(first), finish(second)):
        assert code == 0, err
    assert (tmp_path / "2.1").exists()


def test_a_machine_that_dies_is_gone_after_a_while(tmp_path):
    job = tmp_path / "job.py"
    job.write_text(JOB)
    port = free_port()
    agents = [agent(port, "1:2", i == 0, job, tmp_path, 1, restarts=1) for i in range(2)]
    wait_for(tmp_path / "2.0")
    agents[1].send_signal(signal.SIGKILL)
    agents[1].wait()
    code, err = finish(agents[0])
    assert code == 0, err
    assert "a new round, 1 of 1 restarts" in err
    finish(agents[1])


def test_too_many_failures_end_the_job_on_all_machines(tmp_path):
    job = tmp_path / "job.py"
    job.write_text(
        "import os, sys, time\ntime.sleep(0.3)\nsys.exit(3 if os.environ['RANK'] == '1' else time.sleep(60))\n"
    )
    port = free_port()
    agents = [agent(port, "2:2", i == 0, job, restarts=1) for i in range(2)]
    ends = [finish(a) for a in agents]
    assert sorted(code for code, _ in ends)[0] > 0
    assert any("exit code 3" in err for _, err in ends)
    assert any("the job failed: failure: rank 1" in err for _, err in ends)


def test_who_learns_of_a_failure_counts_it_however_soon_it_looks():
    store = dist.HashStore()
    machine = Membership(store, 1, 1)
    for failed in (1, 2):
        number = machine.join().number
        store.compare_set(f"{number}/over", "", "failure: rank 1")  # the first thing that another machine does
        assert machine.look() == "failure: rank 1"
        assert machine.failures() == failed
        store.add("round", 1)
    machine.join()
    machine.end("a machine has come", failure=False)
    assert machine.failures() == 2


def test_too_few_machines_are_waited_for_only_so_long():
    store = dist.HashStore()
    with pytest.raises(RuntimeError, match="of 2 to 3 machines, 1 came within 0.3 s"):
        Membership(store, 2, 3, join_timeout=0.3).join()
    full = dist.HashStore()
    assert Membership(full, 1, 1).join().count == 1
    with pytest.raises(RuntimeError, match="no round began within 0.3 s that has room"):
        Membership(full, 1, 1, join_timeout=0.3).join()


def test_output_goes_to_files_and_to_the_console(tmp_path):
    job = tmp_path / "job.py"
    job.write_text("import os, sys\nprint('said', os.environ['RANK'])\nsys.stderr.write('complained\\n')\n")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--tee", "3", "--log-dir",
               tmp_path / "logs", job]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=80)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[default0]:said 0", "[default1]:said 1"]
    assert "[default1]:complained" in done.stderr
    assert (tmp_path / "logs" / "attempt_0" / "1" / "stdout.log").read_text() == "said 1\n"


def test_output_is_chosen_by_rank(tmp_path):
    job = tmp_path / "job.py"
    job.write_text("import os, sys\nprint('said', os.environ['RANK'])\nsys.stderr.write('complained\\n')\n")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "3", "--redirects", "0:1", "--tee", "1:3",
               "--local-ranks-filter", "0,1", "--log-dir", tmp_path / "logs", job]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=80)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[default1]:said 1"]
    assert sorted(line for line in done.stderr.splitlines() if "complained" in line) == [
        "[default1]:complained",
        "complained",
    ]
    logs = tmp_path / "logs" / "attempt_0"
    assert (logs / "0" / "stdout.log").read_text() == "said 0\n"
    assert not (logs / "0" / "stderr.log").exists()
    assert (logs / "2" / "stdout.log").read_text() == "said 2\n"


def test_too_few_machines_are_an_error_of_their_own():
    with pytest.raises(RendezvousTimeoutError, match="of 2 to 3 machines, 1 came within 0.3 s"):
        Membership(dist.HashStore(), 2, 3, join_timeout=0.3).join()


def test_settings_of_a_rendezvous_are_read_and_held_to_their_kinds():
    params = RendezvousParameters("c10d", "here:1", "7", 1, 2, a="yes", b="12", c="many")
    assert (params.get("a"), params.get_as_bool("a"), params.get_as_int("b")) == ("yes", True, 12)
    assert params.get_as_bool("d") is None
    assert params.get_as_int("d", 3) == 3
    with pytest.raises(ValueError, match="'c' does not represent a valid integer value: 'many'"):
        params.get_as_int("c")
    with pytest.raises(ValueError, match="'b' does not represent a valid boolean value: '12'"):
        params.get_as_bool("b")
    with pytest.raises(ValueError, match="must be greater than or equal to the minimum"):
        RendezvousParameters("c10d", "here:1", "7", 2, 1)
    with pytest.raises(ValueError, match="non-empty"):
        RendezvousParameters("", "here:1", "7", 1, 1)


def test_a_free_port_can_be_listened_at():
    with socket.create_server(("localhost", get_free_port())) as server:
        assert server.getsockname()[1]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
         {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}),
        ({"PMI_RANK": "0", "PMI_SIZE": "3"}, {"RANK": "0", "WORLD_SIZE": "3"}),
        ({"SLURM_PROCID": "1"}, {}),
    ],
)  # fmt: skip
def test_what_schedulers_tell(variables, expected):
    assert _cluster.place(variables) == expected


def test_ranks_under_slurm_need_no_torchrun(tmp_path):
    code = "import torch, torch.distributed as d; d.init_process_group(); x = torch.ones(1); d.all_reduce(x); print(x.item())"
    clean = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    common = clean | {"SLURM_NTASKS": "2", "SLURM_STEP_NODELIST": "localhost", "MASTER_PORT": str(free_port())}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=common | {"SLURM_PROCID": str(r)}, stdout=subprocess.PIPE, text=True
        )
        for r in range(2)
    ]
    assert [p.communicate(timeout=20)[0] for p in started] == ["2.0\n"] * 2
