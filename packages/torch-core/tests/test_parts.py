import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import _C, _parts

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
    done = subprocess.run([sys.executable, "-I", "-c", start + hide + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write_part(folder, part, text, own_torch=False):
    (folder / "torch" / part).mkdir(parents=True)
    (folder / "torch" / part / "__init__.py").write_text(text)
    if own_torch:
        (folder / "torch" / "__init__.py").write_text("")


@pytest.mark.parametrize("part", _parts.PARTS)
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
    message = f"torch.{part} is in the distribution 'torch-{part}', which is not installed: pip install torch-{part}"
    assert run_alone(code) == message


@pytest.mark.parametrize("name, part", _parts.ATTRIBUTES.items())
def test_a_name_out_of_a_missing_part_names_its_distribution(name, part):
    out = run_alone(f"import torch\ntry:\n    torch.{name}\nexcept AttributeError as e:\n    print(e)")
    assert out.startswith(f"torch.{name}: torch.{part} is in the distribution 'torch-{part}'")
    assert out.endswith(f"pip install torch-{part}")


@pytest.mark.parametrize("name, module", [("jit", "jit"), ("fx", "fx"), ("compile", "compiler"), ("vmap", "func")])
def test_what_is_not_there_yet_says_so(name, module):
    assert not hasattr(torch, name)
    with pytest.raises(AttributeError, match=f"torch.{module} is not part of this stack yet"):
        getattr(torch, name)
    with pytest.raises(ModuleNotFoundError, match=f"torch.{module} is not part of this stack yet"):
        importlib.import_module(f"torch.{module}")


def test_hasattr_tells_whether_a_part_is_installed(tmp_path):
    write_part(tmp_path, "nn", "")
    assert run_alone("import torch; print(hasattr(torch, 'nn'), hasattr(torch, 'optim'))", tmp_path) == "True False"


def test_a_part_that_does_not_exist_yet_says_so():
    with pytest.raises(ModuleNotFoundError, match="torch.jit is not part of this stack yet"):
        importlib.import_module("torch.jit")
    assert not hasattr(torch, "onnx")


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
        f"installed torch-core {_parts._version('torch-core')} has interface {_C.interface}: pip install -U torch-core"
    )


def test_a_part_built_for_a_newer_interface_asks_for_a_newer_core():
    with pytest.raises(
        ImportError, match=r"torch-gone \(from a source tree\) was built .*: pip install -U torch-core$"
    ):
        _parts.require("torch-gone", _C.interface + 1)


def test_a_part_built_for_this_interface_passes():
    _parts.require("torch-core", _C.interface)


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


def test_dir_shows_parts_and_the_names_out_of_parts():
    assert {"nn", "optim", "save", "no_grad", "Tensor"} <= set(dir(torch))
