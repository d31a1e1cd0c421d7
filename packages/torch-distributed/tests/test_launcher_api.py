"""Jobs started from a program."""

import os
import subprocess
import sys

import pytest
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch, launch_agent

ONE_MACHINE = {"min_nodes": 1, "max_nodes": 1, "rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0"}


def config(processes=2, **more):
    return LaunchConfig(nproc_per_node=processes, **(ONE_MACHINE | {"max_restarts": 0} | more))


def test_each_rank_returns_what_its_function_does():
    assert elastic_launch(config(), max)(3, 5, 4) == {0: 5, 1: 5}
    assert launch_agent(config(3), os.getenv, ["WORLD_SIZE"]) == {0: "3", 1: "3", 2: "3"}
    ranks = elastic_launch(config(), os.getenv)("RANK")
    assert ranks == {0: "0", 1: "1"}


def test_functions_of_the_starting_program_are_found(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, torch.distributed as dist\n"
        "from torch.distributed.launcher.api import LaunchConfig, elastic_launch\n"
        "def work(scale):\n"
        "    dist.init_process_group('gloo')\n"
        "    x = torch.tensor([scale * (dist.get_rank() + 1)])\n"
        "    dist.all_reduce(x)\n"
        "    dist.destroy_process_group()\n"
        "    return x.item()\n"
        "if __name__ == '__main__':\n"
        "    config = LaunchConfig(1, 1, 2, rdzv_backend='c10d', rdzv_endpoint='localhost:0', max_restarts=0)\n"
        "    print(elastic_launch(config, work)(10))\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "{0: 30, 1: 30}\n", done.stderr


def test_a_program_may_be_run_too(tmp_path):
    written = str(tmp_path / "rank")
    assert elastic_launch(config(), "sh")("-c", f"echo $WORLD_SIZE > {written}.$RANK") == {}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["rank.0", "rank.1"]


def test_a_rank_that_fails_ends_the_job_with_its_number_and_reason():
    with pytest.raises(ChildFailedError, match="ValueError.*base") as failed:
        elastic_launch(config(), int)("7", 99)
    assert set(failed.value.failures) <= {0, 1}


def test_what_cannot_be_started_is_refused():
    with pytest.raises(TypeError, match="must be pickled for processes that start anew"):
        elastic_launch(config(), lambda: 1)()
    with pytest.raises(TypeError, match="must be a function or a program, got 3"):
        elastic_launch(config(), 3)
    with pytest.raises(ValueError, match="min_nodes=2 and max_nodes=1 are no range"):
        LaunchConfig(2, 1, 1)
    with pytest.raises(ValueError, match="nproc_per_node=0 must be positive"):
        LaunchConfig(1, 1, 0)
    with pytest.raises(NotImplementedError, match="there are static and c10d"):
        elastic_launch(LaunchConfig(1, 1, 1, max_restarts=0), max)(1, 2)  # PyTorch's default, etcd


def test_output_goes_where_the_specs_of_logs_say(tmp_path, capfd):
    logs = DefaultLogsSpecs(tmp_path, redirects={0: Std.ALL, 1: Std.OUT})
    assert elastic_launch(config(logs_specs=logs), "sh")("-c", "echo said $RANK") == {}
    assert [(tmp_path / "attempt_0" / str(r) / "stdout.log").read_text() for r in range(2)] == ["said 0\n", "said 1\n"]
    assert capfd.readouterr().out == ""
    with pytest.raises(TypeError, match="logs_specs must be a DefaultLogsSpecs, got 3"):
        config(logs_specs=3)
    with pytest.raises(ValueError, match="DefaultLogsSpecs: expected a Std, or a dict of them by rank, got 7"):
        DefaultLogsSpecs(tmp_path, tee=7)
    with pytest.raises(ValueError, match="--redirects needs --log-dir"):
        elastic_launch(config(logs_specs=DefaultLogsSpecs(redirects=Std.ERR)), "sh")("-c", "true")
