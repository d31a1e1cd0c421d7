import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import _C, _install, _names, _parts

CORE = Path(torch.__file__).parents[1]


def run_alone(code, *folders):
    """Run code where torch-core is importable and, of the parts, only those in these folders."""
    start = f"import sys; sys.path[:0] = {[str(CORE), *map(str, folders)]!r}\n"
    # Whatever else lies beside torch-core in site-packages is hidden from the search for parts.
    hide = (
        "from importlib.machinery import PathFinder as P\n"
        "find = P.find_spec\n"
        f"def core_alone(name, path=None, target=None):\n"
        f"    hidden = name.startswith('torch.') and name.split('.')[1] in {sorted(_parts.PARTS)!r}\n"
        f"    return find(name, [p for p in path or [] if p != {str(CORE / 'torch')!r}] if hidden else path, target)\n"
        "P.find_spec = staticmethod(core_alone)\n"
    )
    clean = {k: v for k, v in os.environ.items() if k != "TORCH_WHEELHOUSE"}
    command = [sys.executable, "-I", "-c", start + hide + code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write_part(folder, part, text, own_torch=False):
    (folder / "torch" / part).mkdir(parents=True)
    (folder / "torch" / part / "__init__.py").write_text(text)
    if own_torch:
        (folder / "torch" / "__init__.py").write_text("")


@pytest.mark.parametrize("part", [part for part in _parts.PARTS if part not in _parts.FACES])
@pytest.mark.parametrize(
    "statement, error",
    [
        ("import torch.{0}", "ModuleNotFoundError"),
        ("import torch.{0}.anything", "ModuleNotFoundError"),
        ("from torch import {0}", "ModuleNotFoundError"),
        ("import torch; torch.{0}", "AttributeError"),
    ],
)
def test_a_missing_part_names_its_distribution(part, statement, error):
    code = f"try:\n    {statement.format(part)}\nexcept {error} as e:\n    print(e)"
    assert run_alone(code) == (
        f"torch.{part} is in the distribution '{_parts.PARTS[part]}', which is not installed: "
        f"pip install --no-index --find-links .wheelhouse {_parts.PARTS[part]}"
    )


@pytest.mark.parametrize("name, part", _names.ATTRIBUTES.items())
def test_a_name_out_of_a_missing_part_names_its_distribution(name, part):
    out = run_alone(f"import torch\ntry:\n    torch.{name}\nexcept AttributeError as e:\n    print(e)")
    assert out.startswith(f"torch.{name}: torch.{part} is in the distribution '{_parts.PARTS[part]}'")
    assert out.endswith(f"pip install --no-index --find-links .wheelhouse {_parts.PARTS[part]}")


def test_hasattr_tells_whether_a_part_is_installed(tmp_path):
    write_part(tmp_path, "nn", "")
    assert run_alone("import torch; print(hasattr(torch, 'nn'), hasattr(torch, 'optim'))", tmp_path) == "True False"


def test_libraries_that_look_for_a_missing_part_find_none():
    code = "import torch\nfrom importlib.util import find_spec\nprint([find_spec(f'torch.{p}') for p in PARTS])"
    parts = [*_parts.PARTS, "distributed", "jit", "nonsense"]
    assert run_alone(f"PARTS = {parts!r}\n{code}") == str([None] * len(parts))


def test_distributed_answers_that_it_is_not_available():
    code = (
        "import torch, torch.distributed as dist\n"
        "print(dist is torch.distributed, dist.is_available(), dist.is_initialized(), hasattr(dist, 'all_reduce'))\n"
        "try:\n    dist.all_reduce\nexcept AttributeError as e:\n    print(e)"
    )
    first, second = run_alone(code).splitlines()
    assert first == "True False False False"
    assert second.startswith("torch.distributed.all_reduce: torch.distributed is ")


def write_metadata(folder, name, *requires, files=()):
    info = folder / f"{name.replace('-', '_')}-7.0.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 7.0", *(f"Requires-Dist: {r}" for r in requires)]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "RECORD").write_text("".join(f"{f},,\n" for f in files))


@pytest.mark.parametrize("file", ["torch_optim/__init__.py", "torch_optim/weights.pth"])
def test_a_strangers_distribution_of_the_same_name_is_recognised(tmp_path, file):
    write_metadata(tmp_path, "torch-optim", "numpy", files=[file])
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).touch()
    code = (
        "import torch\ntry:\n    torch.optim\nexcept AttributeError as e:\n    print(e)\n"
        "from torch import doctor\nprint(*(p for p in doctor.problems() if 'another project' in p), sep='\\n')"
    )
    mend = (
        "the installed 'torch-optim' is another project's package of the same name: pip uninstall torch-optim; "
        "pip install --no-index --find-links .wheelhouse torch-optim"
    )
    assert run_alone(code, tmp_path).splitlines() == [
        f"torch.optim is in the distribution 'torch-optim'; {mend}",
        mend,
    ]


@pytest.mark.parametrize(
    "requires, files", [(["torch-core~=0.1.0"], []), ([], ["torch/optim/__init__.py"]), ([], ["_torch_optim.pth"])]
)
def test_a_distribution_of_ours_is_no_strangers(tmp_path, requires, files):
    write_metadata(tmp_path, "torch-optim", *requires, files=files)
    for file in files:  # since Python 3.12 metadata lists only those that are there
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert run_alone("from torch import _install; print(_install.is_strangers('torch-optim'))", tmp_path) == "False"


def test_another_torch_that_lies_over_ours_is_named_when_it_comes_to_a_file_of_ours(tmp_path):
    torn = (
        tmp_path / "torch"
    )  # what pip leaves: their __init__ and _C, and those of our files whose names they do not have
    torn.mkdir()
    for name in ("_seams.py", "_install.py"):
        shutil.copy(CORE / "torch" / name, torn / name)
    (torn / "_C.py").touch()
    (torn / "__init__.py").write_text("from . import _seams\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\ntry:\n    import torch\nexcept ImportError as e:\n    print(e)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert "shares its folder with files of another torch: " in done.stdout, done.stderr
    assert "pip uninstall torch; pip install --force-reinstall" in done.stdout


def test_files_of_another_torch_among_ours_are_named_at_import(tmp_path):
    shutil.copytree(CORE / "torch", tmp_path / "torch", symlinks=True)
    (tmp_path / "torch" / "lib" / "libtorch_cpu.so").touch()
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\ntry:\n    import torch\nexcept ImportError as e:\n    print(e)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert "torch-core shares its folder with files of another torch: " in done.stdout, done.stderr
    assert "pip uninstall torch; pip install --force-reinstall --no-index" in done.stdout


def test_a_part_in_another_folder_is_found_and_its_names_appear_in_torch(tmp_path):
    write_part(tmp_path, "serialize", "def save(x): return 'saved ' + x\ndef load(x): return x")
    code = "import torch; print(torch.save('a'), torch.serialize.__name__, 'save' in vars(torch))"
    assert run_alone(code, tmp_path) == "saved a torch.serialize True"


def test_a_foreign_torch_further_down_the_path_is_never_mixed_in(tmp_path):
    write_part(tmp_path, "nn", "print('foreign')", own_torch=True)
    code = "try:\n    import torch.nn\nexcept ModuleNotFoundError as e:\n    print(e.name)"
    assert run_alone(code, tmp_path) == "torch-nn"


def test_an_error_inside_a_part_is_not_taken_for_a_missing_part(tmp_path):
    write_part(tmp_path, "nn", "import no_such_module")
    code = "import torch\ntry:\n    torch.nn\nexcept ModuleNotFoundError as e:\n    print(e)"
    assert run_alone(code, tmp_path) == "No module named 'no_such_module'"


def test_finders_of_modules_are_there_for_who_imports_importlib_and_torch():
    code = "import importlib, torch; print(importlib.machinery.PathFinder().find_spec('json') is not None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


def test_import_torch_loads_neither_numpy_nor_a_part():
    out = run_alone(
        "import torch\n"
        f"heavy = {{'numpy', 'importlib.metadata', *('torch.' + p for p in {list(_parts.PARTS)!r})}}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert out == "[]"


def test_a_part_built_for_an_older_interface_is_to_be_upgraded():
    with pytest.raises(ImportError) as caught:
        _parts.require("torch-core", _C.interface - 1)
    assert str(caught.value) == (
        f"torch-core {_parts._version('torch-core')} was built for interface {_C.interface - 1} of torch-core; "
        f"installed torch-core {_parts._version('torch-core')} has interface {_C.interface}: "
        f"{_install.command('torch-core', upgrade=True)}"
    )


def test_a_part_built_for_a_newer_interface_asks_for_a_newer_core():
    with pytest.raises(
        ImportError, match=r"torch-gone \(from a source tree\) was built .*: pip install -U .* torch-core$"
    ):
        _parts.require("torch-gone", _C.interface + 1)


def test_a_part_built_for_this_interface_passes():
    _parts.require("torch-core", _C.interface)
    _parts.require("torch-core", _C.interface, _C.features)


def test_a_part_built_for_more_operators_asks_for_a_newer_core_and_one_for_fewer_passes():
    _parts.require("torch-gone", _C.interface, _C.features - 1)
    more = f"was built with features {_C.features + 1} of torch-core; .* has features {_C.features}: pip install -U .* torch-core$"
    with pytest.raises(ImportError, match=more):
        _parts.require("torch-gone", _C.interface, _C.features + 1)
    with pytest.raises(ImportError, match="was built for interface"):  # the number says nothing of another interface
        _parts.require("torch-gone", _C.interface - 1, _C.features)


def test_the_interface_is_checked_before_the_library_of_a_part_is_loaded(tmp_path):
    text = "from torch._parts import require\nrequire('torch-autograd', 0)\nraise SystemExit('went on')"
    write_part(tmp_path, "autograd", text)
    code = "import torch\ntry:\n    torch.autograd\nexcept ImportError as e:\n    print(e)"
    assert "was built for interface 0 of torch-core" in run_alone(code, tmp_path)


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("tensr", "tensor"),
        ("Tnesor", "Tensor"),
        ("flaot32", "float32"),
        ("Int64", "int64"),
        ("int_", "int"),
        ("atuograd", "autograd"),
    ],
)
def test_a_misspelt_name_is_met_with_the_right_one(wrong, right):
    with pytest.raises(AttributeError, match=f"module 'torch' has no attribute '{wrong}'; did you mean '{right}'?"):
        getattr(torch, wrong)


def test_a_name_like_no_other_gets_no_guess():
    with pytest.raises(AttributeError) as caught:
        torch.quixotic
    assert str(caught.value) == "module 'torch' has no attribute 'quixotic'"


@pytest.mark.parametrize("name", [*_names.LAZY, *_names.MODULES, *_names.ALIASES])
def test_a_name_that_waits_in_a_module_is_found_there(name):
    if name in _names.ALIASES and not hasattr(torch, _names.ALIASES[name].partition(".")[0]):
        pytest.skip("its part is not installed")
    if "." in name:
        assert importlib.import_module(f"torch.{name}") is importlib.import_module(f"torch.{_names.ALIASES[name]}")
        return
    try:
        found = getattr(torch, name)
    except ImportError as error:  # made of classes of a part
        assert "which is not installed" in str(error)
    else:
        assert getattr(torch, name) is found


def test_dir_shows_parts_and_the_names_out_of_parts():
    assert {"nn", "optim", "save", "no_grad", "Tensor"} <= set(dir(torch))
    assert "_cuda" not in dir(torch)  # what has no public name is named by who needs it


def test_a_part_that_is_removed_while_a_program_runs_is_missing_from_then_on(tmp_path):
    write_part(tmp_path, "nn", "from . import late\n")
    (tmp_path / "torch" / "nn" / "late.py").write_text("")
    code = (
        "import shutil, torch, torch.nn as nn\n"
        f"shutil.rmtree({str(tmp_path / 'torch' / 'nn')!r})\n"
        "print(torch.nn is nn, torch.ones(2).sum().item())\n"
        "try:\n    import torch.nn.other\nexcept ModuleNotFoundError as e:\n    print(e)\n"
        "del sys.modules['torch.nn'], torch.nn\n"
        "try:\n    import torch.nn\nexcept ModuleNotFoundError as e:\n    print(e)"
    )
    kept, inner, part = run_alone(code, tmp_path).splitlines()
    assert kept == "True 2.0" and inner == "No module named 'torch.nn.other'"
    assert part.startswith("torch.nn is in the distribution 'torch-nn', which is not installed: pip install")
