import os
import subprocess
import sys

import pytest
import torch
from torch import _C, _install, _parts, doctor
from torch.doctor import CORE, Finding


def found(**changes):
    core = Finding(CORE, "0.3.1", torch.__path__[0], None)
    autograd = Finding("torch-autograd", "0.3.0", torch.__path__[0], _C.interface, ["torch-core~=0.3.0"])
    for name, value in changes.items():
        setattr(autograd, name, value)
    return {CORE: core, "torch-autograd": autograd}


def test_pieces_that_belong_together_have_no_problems():
    assert [p for p in doctor.problems(found()) if "autograd" in p] == []


@pytest.mark.parametrize("built_for, upgrade", [(_C.interface - 1, "torch-autograd"), (_C.interface + 1, CORE)])
def test_a_part_for_another_interface_names_both_versions_and_the_command(built_for, upgrade):
    assert doctor.problems(found(built_for=built_for))[0] == (
        f"torch-autograd 0.3.0 was built for interface {built_for} of torch-core; "
        f"installed torch-core 0.3.1 has interface {_C.interface}: {_install.command(upgrade, upgrade=True)}"
    )


def test_a_part_built_with_more_features_asks_for_a_newer_core():
    assert doctor.problems(found(features=_C.features + 1))[0] == (
        f"torch-autograd 0.3.0 was built with features {_C.features + 1} of torch-core; "
        f"installed torch-core 0.3.1 has features {_C.features}: {_install.command(CORE, upgrade=True)}"
    )


def test_a_distribution_of_two_parts_is_found_by_the_one_that_it_is_named_after():
    for dist, one in doctor.findings().items():
        parts = [part for part, of in _parts.PARTS.items() if of == dist]
        if one.folder is not None and parts:
            namesake = dist.removeprefix("torch-")
            assert one.folder.name == (namesake if namesake in parts else parts[0])  # torch-jit brings torch.fx only


def test_a_pin_that_does_not_hold_is_a_problem():
    (said,) = (p for p in doctor.problems(found(requires=["torch-core~=0.4.0"])) if "autograd" in p)
    command = _install.command("torch-core~=0.4.0")
    assert said == f"torch-autograd needs torch-core~=0.4.0, installed is 0.3.1: {command}"


def test_a_requirement_that_is_absent_is_a_problem():
    pieces = found()
    pieces[CORE].folder = None
    (said,) = (p for p in doctor.problems(pieces) if "autograd" in p)
    command = _install.command("torch-core~=0.3.0")
    assert said == f"torch-autograd needs torch-core, which is not installed: {command}"


def test_files_that_are_missing_or_cut_are_a_problem(tmp_path, monkeypatch):
    info = tmp_path / "torch_shop-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-shop\nVersion: 0.1.0\n")
    (info / "RECORD").write_text(
        "torch/shop/__init__.py,sha256=x,5\ntorch/shop/whole.py,sha256=x,3\ntorch/shop/gone.py,sha256=x,7\n"
        "torch/shop/__pycache__/whole.pyc,,\n../../bin/shop,sha256=x,4\n"
    )
    (tmp_path / "torch" / "shop").mkdir(parents=True)
    (tmp_path / "torch" / "shop" / "__init__.py").write_text("12")
    (tmp_path / "torch" / "shop" / "whole.py").write_text("123")
    monkeypatch.syspath_prepend(str(tmp_path))
    (said,) = (
        p for p in doctor.problems({"torch-shop": Finding("torch-shop", "0.1.0", tmp_path, None)}) if "shop" in p
    )
    again = _install.command("torch-shop", upgrade=True).replace("-U", "--force-reinstall --no-deps")
    first = "torch/shop/__init__.py has 2 bytes, 5 were installed"
    assert said == f"torch-shop is damaged: {first}, and 1 more of its files: {again}"
    assert doctor.damaged("torch-shop")[1:] == ["torch/shop/gone.py is missing"]


@pytest.mark.parametrize("installer, wrong", [("pip", 2), ("conda", 1)])
def test_conda_may_give_libraries_other_search_paths(installer, wrong, tmp_path, monkeypatch):
    info, shop = tmp_path / "torch_shop-0.1.0.dist-info", tmp_path / "torch" / "shop"
    info.mkdir()
    shop.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-shop\nVersion: 0.1.0\n")
    (info / "INSTALLER").write_text(f"{installer}\n")
    (info / "RECORD").write_text("torch/shop/_C.so,sha256=x,4\ntorch/shop/cut.py,sha256=x,7\n")
    (shop / "_C.so").write_bytes(b"\x7fELF and more")
    (shop / "cut.py").write_text("1")
    monkeypatch.syspath_prepend(str(tmp_path))
    said = doctor.damaged("torch-shop")
    assert len(said) == wrong and said[-1] == "torch/shop/cut.py has 1 bytes, 7 were installed"


def test_requirements_of_extras_are_not_asked_for():
    assert not [p for p in doctor.problems(found(requires=['torch-core~=9.9.0; extra == "far"'])) if "autograd" in p]


@pytest.mark.parametrize(
    "requirement, version, holds",
    [
        ("a~=0.3.0", "0.3.9", True),
        ("a~=0.3.0", "0.4.0", False),
        ("a~=0.3", "0.9.1", True),
        ("a>=1.26", "2.0", True),
        ("a>=1.26", "1.9", False),
        ("a==0.1.0", "0.1.0+local", True),
        ("a==0.1.0", "0.1.1", False),
        ("a", "7", True),
    ],
)
def test_what_a_pin_admits(requirement, version, holds):
    assert doctor.admits(requirement, version) is holds


def test_the_report_names_every_distribution_and_the_machine():
    text = doctor.report()
    for word in ("torch-core", "torch-nn", "processor", "kernels", "threads", "BLAS", "CUDA", torch.__version__):
        assert word in text


def test_the_command_prints_the_report_and_tells_by_its_exit_code():
    done = subprocess.run([sys.executable, "-m", "torch.doctor"], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == doctor.report()
    assert done.returncode == (1 if doctor.problems() else 0), done.stderr


@pytest.mark.skipif("generic" in doctor.report(), reason="kernels only through generic vectors: there are no levels")
def test_a_pinned_level_is_told():
    code = "import os; os.environ['TORCH_CPU_LEVEL'] = 'v2'; from torch import doctor; print(doctor.report())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "kernels       v2 (pinned by TORCH_CPU_LEVEL; the processor has v" in done.stdout


@pytest.mark.skipif("generic" in doctor.report(), reason="kernels only through generic vectors: there are no levels")
def test_a_level_that_no_build_of_this_processor_has_is_refused():
    environment = {**os.environ, "TORCH_CPU_LEVEL": "generic"}
    done = subprocess.run(
        [sys.executable, "-c", "import torch"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (
        done.returncode == 1 and "ValueError: TORCH_CPU_LEVEL=generic: this build has kernels from v2 on" in done.stderr
    )


def test_two_versions_side_by_side_are_a_problem(tmp_path, monkeypatch):
    for version in ("0.1.0", "0.2.0"):
        folder = tmp_path / version / f"torch_autograd-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch-autograd\nVersion: {version}\n")
        monkeypatch.syspath_prepend(tmp_path / version)
    (said,) = (p for p in doctor.problems(found()) if "side by side" in p)
    assert said.startswith("torch-autograd is installed in versions 0.1.0 and 0.2.0 side by side")
    assert "--force-reinstall --no-index" in said


def test_what_a_part_was_built_for_is_found_where_its_library_lies(tmp_path, monkeypatch):
    for folder in ("fx", "jit"):  # torch-jit is both, and compiled in the second
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "jit" / "_built.py").write_text("CORE_INTERFACE = 7\nCORE_FEATURES = 3\n")
    monkeypatch.setattr(torch, "__path__", [str(tmp_path)])
    found = doctor._find("torch-jit", "fx")
    assert (found.built_for, found.features) == (7, 3)
