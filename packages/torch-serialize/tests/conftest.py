"""Shared pieces: where the sample files are, and a real PyTorch to read what was written, if there is one."""

import os
import pathlib
import subprocess

import pytest

DATA = pathlib.Path(__file__).parent / "data"


@pytest.fixture
def data():
    """Small files that PyTorch 2.13 wrote."""
    return DATA


@pytest.fixture
def peer(tmp_path):
    """Runs code under the Python named by TORCH_PEER_PYTHON, whose torch is PyTorch, and gives what it printed."""
    python = os.environ.get("TORCH_PEER_PYTHON")
    if not python:
        pytest.skip("TORCH_PEER_PYTHON names no Python with PyTorch")

    def run(code: str) -> str:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=env, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
