"""Libraries of the public registry, installed beside ours by pip as a user would: they must leave ours in place."""

import json
import os
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

HOUSE = os.environ.get("TORCH_WHEELHOUSE", "")

pytestmark = pytest.mark.skipif(not Path(HOUSE, "sdist").exists(), reason="needs the wheelhouse: tox -e stack")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beside")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip(python, "--no-index", "--find-links", HOUSE, f"torch=={distribution('torch').version}")
    return python


def pip(python, *arguments):
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ours(python):
    code = (
        "import torch\nfrom importlib.metadata import version\n"
        "print(torch.__version__, version('torch'), version('torch-core'), version('torch-optim'))"
    )
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pip_would_keep_ours_for_a_library_that_needs_torch_and_torchvision(python):
    report = json.loads(pip(python, "--dry-run", "--report", "-", "timm", "torchmetrics", "einops"))
    wanted = {one["metadata"]["name"].lower() for one in report["install"]}
    assert {"timm", "torchmetrics", "einops", "torchvision"} <= wanted
    assert [name for name in sorted(wanted) if name == "torch" or name.startswith(("torch-", "nvidia"))] == []


def test_pip_keeps_ours_and_the_libraries_compute_with_it(python):
    before = ours(python)
    pip(python, "torchmetrics", "einops")
    assert ours(python) == before
    code = (
        "import torch, einops\nfrom torch import doctor\n"
        "x = torch.arange(6.0).reshape(2, 3)\n"
        "print(einops.rearrange(x, 'a b -> b a').tolist() == x.T.tolist(), doctor.problems())"
    )
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True []\n", done.stderr
