import subprocess
import sys

import pytest
import torch
from torch_core import stubs

TEXT = stubs.stub(torch)


def test_every_public_operator_stands_in_the_stub():
    missing = [n for n, f in vars(torch).items() if hasattr(f, "schemas") and f"def {n}(" not in TEXT]
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
