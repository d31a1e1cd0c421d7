"""What no constructor may do: crash, or fail in the middle of what it was given without a word about it."""

import os
import subprocess
import sys
from pathlib import Path


def test_hostile_arguments_of_constructors_get_a_clear_error():
    calls, seed = os.environ.get("TORCH_FUZZ_CALLS", "6000"), os.environ.get("TORCH_FUZZ_SEED", "0")
    command = [sys.executable, str(Path(__file__).with_name("constructors.py")), "--calls", calls, "--seed", seed]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
