"""torchrun: environment, several processes, failures, restarts, several agents, nothing left behind."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from torch.distributed import run
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ErrorHandler, record

SUM = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(x)
folder = sys.argv[1]
open(f"{folder}/{dist.get_rank()}", "w").write(
    f"{x.item()} {dist.get_world_size()} {os.environ['LOCAL_RANK']} {os.environ['TORCHELASTIC_RESTART_COUNT']} {sys.argv[2:]}"
)
dist.destroy_process_group()
"""


def torchrun(*arguments, module="torch.distributed.run", **options):
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)


def finish(process, timeout=25):
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, out, err


def script(tmp_path, text):
    (tmp_path / "job.py").write_text(text)
    (tmp_path / "out").mkdir()
    return tmp_path / "job.py", tmp_path / "out"


def test_two_processes_meet_and_see_their_places(tmp_path):
    job, out = script(tmp_path, SUM)
    code, _, err = finish(torchrun("--standalone", "--nproc-per-node", 2, job, out, "--lr", "0.1"))
    assert code == 0, err
    assert [(out / str(r)).read_text() for r in range(2)] == [f"3.0 2 {r} 0 ['--lr', '0.1']" for r in range(2)]


def test_two_agents_on_two_machines_make_one_job(tmp_path):
    job, out = script(tmp_path, SUM)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = ["--nnodes", 2, "--nproc-per-node", 1, "--master-addr", "127.0.0.1", "--master-port", port]
    agents = [torchrun(*common, "--node-rank", r, job, out) for r in range(2)]
    for code, _, err in map(finish, agents):
        assert code == 0, err
    assert [(out / str(r)).read_text() for r in range(2)] == ["3.0 2 0 0 []"] * 2


def test_a_job_is_started_again_after_a_failure(tmp_path):
    job, out = script(tmp_path, SUM.replace("dist.all_reduce(x)", """dist.all_reduce(x)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
    sys.exit(7)
dist.all_reduce(x * 0)"""))  # fmt: skip
    code, _, err = finish(torchrun("--nproc-per-node", 2, "--max-restarts", 1, job, out))
    assert code == 0, err
    assert "restart 1 of 1" in err
    assert [(out / str(r)).read_text() for r in range(2)] == [f"3.0 2 {r} 1 []" for r in range(2)]


def test_the_rank_that_failed_first_is_named_and_no_process_is_left(tmp_path):
    job, out = script(
        tmp_path,
        """
import os, sys, time
from torch.distributed.elastic.multiprocessing.errors import record
open(f"{sys.argv[1]}/{os.environ['RANK']}", "w").write(str(os.getpid()))
@record
def main():
    if os.environ["RANK"] == "1":
        while len(os.listdir(sys.argv[1])) < 2:
            time.sleep(0.01)
        raise ArithmeticError("two and two")
    time.sleep(60)
main()
""",
    )
    began = time.monotonic()
    code, _, err = finish(torchrun("--nproc-per-node", 2, job, out))
    assert code == 1
    assert "rank 1 (local rank 1, process" in err
    assert "exit code 1: ArithmeticError: two and two" in err
    assert time.monotonic() - began < 20
    pids = [int((out / str(r)).read_text()) for r in range(2)]
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_an_agent_that_is_ended_ends_its_ranks(tmp_path):
    job, out = script(
        tmp_path, "import os, sys, time\nopen(f\"{sys.argv[1]}/{os.getpid()}\", 'w').close()\ntime.sleep(60)\n"
    )
    agent = torchrun("--nproc-per-node", 2, job, out)
    deadline = time.monotonic() + 20
    while len(os.listdir(out)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    agent.send_signal(signal.SIGTERM)
    code, _, _ = finish(agent)
    assert code == 128 + signal.SIGTERM
    assert not any(os.path.exists(f"/proc/{pid}") for pid in os.listdir(out))


def test_launch_of_2018_passes_the_local_rank_as_an_option(tmp_path):
    job, out = script(tmp_path, "import sys\nopen(sys.argv[-1] + '/' + sys.argv[1], 'w').close()\n")
    code, _, err = finish(torchrun("--nproc_per_node=2", job, out, module="torch.distributed.launch"))
    assert code == 0, err
    assert sorted(os.listdir(out)) == ["--local-rank=0", "--local-rank=1"]


def test_a_handler_of_ones_own_hears_of_the_exception(monkeypatch):
    heard = []

    class Handler(ErrorHandler):
        def record_exception(self, e):
            heard.append(e)

    def main():
        raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        record(main, Handler())()
    assert str(heard[0]) == "no data"
    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    with pytest.raises(ValueError, match="no data"):  # and where no file is named, nothing else happens
        record(main)()


def test_one_rank_stops_in_the_debugger_and_the_others_wait_for_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch.distributed as dist\n"
        "dist.init_process_group('gloo', init_method=f'file://{__file__}.store', rank=int(sys.argv[1]), world_size=2)\n"
        "for i in range(3):\n"
        "    here = 10 * i + dist.get_rank()\n"
        "    dist.breakpoint(1, skip=2)\n"
        "print('went on', here, flush=True)\n"
        "dist.destroy_process_group()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    first, second = (subprocess.Popen([sys.executable, program, rank], **pipes) for rank in "01")
    time.sleep(1)
    assert first.poll() is None
    said, _ = second.communicate("p here\nc\n", timeout=60)
    assert "rank 1, process" in said and "(Pdb) 21\n" in said and "went on 21" in said
    assert first.communicate(timeout=60)[0] == "went on 20\n"


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (["--nnodes", "1:3", "x.py"], ValueError, "machines that come and go need --rdzv-backend c10d"),
        (["--nnodes", "1:3", "--rdzv-backend", "c10d", "x.py"], ValueError, "machines meet at --rdzv-endpoint"),
        (["--nnodes", "3:2", "x.py"], ValueError, "the first number is the larger one"),
        (["--tee", "4", "x.py"], ValueError, "--tee: expected 0, 1, 2 or 3, or RANK:STREAMS pairs such as .*, got '4'"),
        (["--tee", "0:3,", "x.py"], ValueError, "got '0:3,'"),
        (["--local-ranks-filter", "a", "x.py"], ValueError, "expected ranks as in 0,2"),
        (["--nnodes", "many", "x.py"], RuntimeError, 'nnodes=many is not in "MIN:MAX" format'),
        (["--nproc-per-node", "gpu", "x.py"], ValueError, "there is no such device here"),
        (["--nproc-per-node", "0", "x.py"], ValueError, "Unsupported nproc_per_node value: 0"),
        (["--rdzv-backend", "etcd", "x.py"], NotImplementedError, "there are static and c10d"),
        (["--redirects", "3", "x.py"], ValueError, "--redirects needs --log-dir"),
        (["--no-python", "--module", "x"], ValueError, "Don't use both"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        run.run(run.parse_args(arguments))


def test_options_from_the_environment(monkeypatch):
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    monkeypatch.setenv("PET_MAX_RESTARTS", "2")
    options = run.parse_args(["x.py"])
    assert (options.nproc_per_node, options.max_restarts) == ("3", 2)


def test_what_a_process_records(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @record
    def main():
        raise KeyError("lost")

    with pytest.raises(KeyError):
        main()
    assert "KeyError: 'lost'" in (tmp_path / "error.json").read_text()
    assert issubclass(ChildFailedError, Exception)
