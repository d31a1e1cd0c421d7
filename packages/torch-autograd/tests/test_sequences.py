"""A few seconds of what ``python -m sequences`` does for as long as one likes, and that it finds what it looks for."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from sequences.machine import Broken, Machine
from sequences.program import Program

HERE = Path(__file__).parent


def test_random_programs_keep_their_promises():
    # in processes of their own: a crash or a hang is reported with the number of its program
    command = [sys.executable, "-m", "sequences", "--calls", "6000", "--seed", "20", "--shrink", "20"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " 0 failures" in done.stdout


def test_a_program_is_the_same_whenever_it_is_made():
    texts = []
    for _ in range(2):
        program = Program(3, next(n for n in range(100) if not Program(3, n).of_gradients))
        texts.append(program.once(None, False))
    assert texts[0] == texts[1] is not None


def machine(*tensors):
    m = Machine()
    m.places = [*tensors]
    return m


def test_a_refused_call_that_changes_its_operand_is_found():
    def careless(x):
        x.add_(1)
        raise ValueError("too late")

    x = torch.zeros(2)
    with pytest.raises(Broken, match="refused careless has changed an operand: .*values"):
        machine(x).call("careless", careless, x)

    def turning(x):
        x.t_()
        raise ValueError("too late")

    y = torch.zeros(2, 3)
    with pytest.raises(Broken, match=r"shape \(2, 3\) -> \(3, 2\)"):
        machine(y).call("turning", turning, y)


def test_a_crash_is_reported_with_its_program_and_made_small(tmp_path):
    # a module that is found before the real one takes the process down in one action
    (tmp_path / "sitecustomize.py").write_text(
        "import os, torch\n"
        "real = torch.Tensor.unsqueeze_\n"
        "torch.Tensor.unsqueeze_ = lambda *a: os.abort()\n"
    )  # fmt: skip
    environment = {"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"}
    command = [sys.executable, "-m", "sequences", "--calls", "2000", "--seed", "1", "--failures", "1", "--shrink", "30"]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "dies (status -6)" in done.stdout, done.stdout + done.stderr
    smallest = done.stdout.split("--steps ")[1].split("\n")[0]
    assert len(smallest.split(",")) <= 3 and "unsqueeze_(" in done.stdout.split("--steps ")[1]
