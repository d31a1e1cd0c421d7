import re
import subprocess
import sys

import pytest
import torch
from torch_core import stubs

TEXT = stubs.stub(torch)


def test_every_public_operator_stands_in_the_stub():
    missing = [n for n, f in vars(torch).items() if isinstance(f, type(torch.add)) and f"def {n}(" not in TEXT]
    assert missing == []


def test_every_method_of_a_tensor_stands_in_the_stub():
    body = TEXT[TEXT.index("class Tensor:") :]
    names = [n for n in vars(torch.Tensor) if not n.startswith("_")]
    assert [n for n in names if f"    def {n}(" not in body and f"    {n}:" not in body] == []


def test_the_stub_is_python():
    compile(TEXT, "torch/__init__.pyi", "exec")


@pytest.mark.parametrize(
    "line, expected",
    [
        ("torch.zeros(2, 3).view(3, 2) @ torch.ones([2, 2])", "torch.Tensor"),
        ("torch.zeros(2, 3).amax(1) + torch.amin(torch.ones(2), dim=(0,))", "torch.Tensor"),
        ("torch.zeros(2, 3).shape[1:]", "torch.Size"),
        ("'{:.3f}'.format(torch.ones(1).mean())", "str"),
        ("torch._foreach_sqrt([torch.ones(2)])", "tuple[torch.Tensor, ...]"),
        ("torch._foreach_mul_([torch.ones(2)], 2)", "list[torch.Tensor]"),
        ("torch.zeros(2).shape", "torch.Size"),
        ("torch.zeros(2).size(0)", "int"),
        ("torch.zeros(2).dtype", "torch.dtype"),
        ("torch.split(torch.zeros(2), 1)", "tuple[torch.Tensor, ...]"),
        ("torch.zeros(2).add_(1)", "torch.Tensor"),
        ("1 / torch.zeros(2)", "torch.Tensor"),
    ],
)
def test_a_type_checker_infers_what_a_call_gives(line, expected, checked):
    assert checked[line] == expected


@pytest.fixture(scope="module")
def checked(request, tmp_path_factory):
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("stubs")
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.pyi").write_text(TEXT)
    marks = next(m for m in test_a_type_checker_infers_what_a_call_gives.pytestmark if m.name == "parametrize")
    lines = [line for line, _ in marks.args[1]]
    program = folder / "program.py"
    program.write_text("import torch\n" + "".join(f"reveal_type({line})\n" for line in lines))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--no-incremental",
        "--follow-imports=silent",
        "--ignore-missing-imports",
        str(program),
    ]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240).stdout
    found = [row.split('"')[1] for row in said.splitlines() if "Revealed type" in row]
    assert len(found) == len(lines), said
    return dict(zip(lines, found))


@pytest.mark.parametrize("name", ["fft", "linalg", "special"])
def test_every_operator_of_a_module_stands_in_its_stub(name):
    module = getattr(torch, name)
    text = stubs.of_module(module)
    compile(text, f"torch/{name}.pyi", "exec")
    assert [n for n, f in vars(module).items() if hasattr(f, "schemas") and f"def {n}(" not in text] == []


def test_what_the_stub_of_cuda_declares_is_there():
    from pathlib import Path

    text = (Path(torch.cuda.__file__).parent / "__init__.pyi").read_text()
    declared = re.findall(r"^(?:def|class) (\w+)", text, re.M)
    assert len(declared) > 40
    assert [n for n in declared if not n.startswith("_") and not hasattr(torch.cuda, n)] == []
    methods = re.findall(r"^class (\w+).*?(?=^\S)", text, re.M | re.S)
    for cls in methods:
        body = re.search(rf"^class {cls}\b.*?(?=^\S)", text, re.M | re.S)[0]
        for method in re.findall(r"    def ([a-z]\w+)", body):
            assert hasattr(getattr(torch.cuda, cls), method), (cls, method)
