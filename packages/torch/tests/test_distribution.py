"""The meta package and its parts as pip leaves them: wheels in an environment of their own."""

import os
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from torch._install import command

HOUSE = os.environ.get("TORCH_WHEELHOUSE", "")
PARTS = [
    "autograd",
    "nn",
    "optim",
    "serialize",
    "multiprocessing",
    "utils",
    "distributions",
    "legacy",
    "fx",
    "distributed",
]
DISTRIBUTIONS = {part: f"torch-{part}" for part in PARTS} | {"fx": "torch-jit"}

pytestmark = pytest.mark.skipif(not Path(HOUSE, "sdist").exists(), reason="needs the wheelhouse: tox -e stack")


class Environment:
    def __init__(self, folder):
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"

    def pip(self, command, *arguments):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")} | {"PIP_CONFIG_FILE": os.devnull}
        source = ["--no-index", "--find-links", HOUSE] if command == "install" else ["-y"]
        call = [sys.executable, "-m", "pip", "--python", self.python, command, "-q", *source, *arguments]
        subprocess.run(call, check=True, env=clean, capture_output=True)

    def run(self, code):
        done = subprocess.run([self.python, "-I", "-c", code], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("whole"))
    environment.pip("install", f"torch=={distribution('torch').version}")
    return environment


def test_the_meta_package_brings_every_part(whole):
    code = f"import torch\nprint(all(hasattr(torch, part) for part in {PARTS!r}), hasattr(torch, 'save'))"
    assert whole.run(code) == "True True"


def test_the_meta_package_is_found_behind_the_name_torch_and_brings_no_code(whole):
    brought = {str(f) for f in distribution("torch").files if f.suffix != ".pyc" and ".dist-info" not in str(f)}
    assert brought == {"torch/_stack.py"}
    code = "from importlib.metadata import packages_distributions as p\nprint('torch' in p()['torch'])"
    assert whole.run(code) == "True"


def test_a_requirement_of_todays_torch_is_met_by_ours(whole):
    for requirement in ("torch>=1.8", "torch>=2.4", "torch<3", "torch==2.14.0"):
        whole.pip("install", requirement)  # from the wheelhouse: pip keeps what is installed
    assert whole.run("from importlib.metadata import version; print(version('torch'))") == distribution("torch").version


def test_the_doctor_finds_nothing_wrong(whole):
    assert whole.run("import torch.doctor; print(torch.doctor.problems())") == "[]"


def test_import_torch_loads_no_part_and_no_numpy(whole):
    heavy = {"numpy", *(f"torch.{part}" for part in PARTS)}
    code = f"import sys, torch\nprint(sorted({heavy!r} & set(sys.modules)))"
    assert whole.run(code) == "[]"


@pytest.mark.parametrize("part", PARTS)
def test_uninstalling_a_part_leaves_the_others_whole(whole, part):
    above = {
        "autograd": {"nn", "optim", "distributions", "fx"},
        "nn": {"fx"},
        "multiprocessing": {"utils"},
    }.get(part, set())
    dist = DISTRIBUTIONS[part]
    others = [p for p in PARTS if p != part and p not in above]
    whole.pip("uninstall", dist)
    try:
        code = (
            "import importlib, torch\n"
            f"for other in {others!r}: importlib.import_module('torch.' + other)\n"
            f"try:\n    importlib.import_module('torch.{part}')\nexcept ModuleNotFoundError as error:\n    print(error)"
        )
        said = whole.run(code)
        if part == "distributed":  # a face says that it is missing
            assert (
                whole.run("import torch.distributed; print(torch.distributed.is_available())") == "False" and not said
            )
        else:
            assert said == f"torch.{part} is in the distribution '{dist}', which is not installed: {command(dist)}"
        problems = whole.run("import torch.doctor as d; print(*d.problems(), sep='\\n')")
        wanted = next(r for r in distribution("torch").requires if r.startswith(f"{dist}~"))
        assert f"torch needs {dist}, which is not installed: {command(wanted)}" in problems
    finally:
        whole.pip("install", "--no-deps", f"{dist}=={distribution(dist).version}")


@pytest.mark.parametrize(
    "numbers, said", [((999, 0), "was built for interface 999"), ((None, 9999), "was built with features 9999")]
)
def test_a_part_built_for_another_core_is_refused_before_its_library_loads(whole, numbers, said):
    built = Path(whole.run("import torch, os; print(os.path.dirname(torch.__file__))"), "autograd", "_built.py")
    text = built.read_text()
    interface, features = numbers
    interface = interface or whole.run("import torch; print(torch._C.interface)")
    built.write_text(f"CORE_INTERFACE = {interface}\nCORE_FEATURES = {features}\n")
    library = next(built.parent.glob("libtorch_autograd.so*"))
    hidden = library.rename(library.with_suffix(".hidden"))  # loading it would fail in another way
    try:
        code = "import torch\ntry:\n    import torch.autograd\nexcept ImportError as error:\n    print(error)"
        found = whole.run(code)
        assert found.startswith(f"torch-autograd {distribution('torch-autograd').version} {said} of torch-core")
        assert found.endswith(command("torch-core", upgrade=True))
        assert said in whole.run("import torch.doctor as d; print(d.problems()[0])")
        assert whole.run("import torch; print(torch.ones(2).sum().item())") == "2.0"
    finally:
        built.write_text(text)
        hidden.rename(library)


def test_serialize_alone_is_importable_without_the_core(tmp_path):
    alone = Environment(tmp_path / "alone")
    alone.pip("install", f"torch-serialize=={distribution('torch-serialize').version}")
    assert alone.run("import torch.serialize; print(torch.serialize.load.__name__)") == "load"
