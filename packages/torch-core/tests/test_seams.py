"""torch._seams: every name is there, and the other distributions of the tree lean on no other private module of ours."""

import ast
from pathlib import Path

import pytest
import torch
from torch import _seams

PACKAGES = next((p / "packages" for p in Path(__file__).resolve().parents if (p / "packages").is_dir()), None)
CORE = Path(__file__).resolve().parents[1] / "src" / "torch"
#: pytrees are torch.utils._pytree, operators of functions, fake tensors and what decompositions ask for have PyTorch's place; what stands in for torch.jit and torch.compiler until torch-jit is there is its own
#: affair, and what plugs into torch.cuda comes with torch-core-cuda.
THEIR_OWN = {
    "_higher_order_ops",
    "_subclasses",
    "_pytree",
    "_prims_common",
    "_faces",
    "_logging",
    "_seams",
    "_absent_device",
}
#: PyTorch's own names, which libraries use too.
PUBLIC = {
    "DisableTorchFunctionSubclass", "Generator", "Tensor", "TensorBase", "UntypedStorage", "interface", "strided", "_set_grad_enabled",
    "_get_tracing_state",
    "_dynamo_state",  # torch-jit puts it there
}  # fmt: skip


@pytest.mark.parametrize("name", dir(_seams))
def test_a_seam_is_there_and_says_what_it_is(name):
    try:
        value = getattr(_seams, name)
    except ImportError as error:  # of a plug-in, which need not be there
        pytest.skip(str(error))
    assert callable(value) or isinstance(value, list)
    assert isinstance(value, list) or name in ("no_torch_dispatch",) or value.__doc__, name


def test_another_name_is_none():
    with pytest.raises(AttributeError, match=r"module 'torch._seams' has no attribute 'opperator'"):
        _seams.opperator
    assert torch.equal(_seams.operator("add")(torch.ones(1), 2), torch.tensor([3.0]))


def leaned_on(file, private):
    """Private modules of torch-core that a file imports from, and private names of torch._C that it uses."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            head, *rest = node.module.split(".")
            if head == "torch" and rest and rest[0] in private:
                yield rest[0]
            if node.module == "torch":
                yield from (a.name for a in node.names if a.name in private)
            if node.module == "torch._C":
                yield from (f"_C.{a.name}" for a in node.names if a.name not in PUBLIC)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            inner = node.value
            if isinstance(inner.value, ast.Name) and inner.value.id == "torch" and inner.attr == "_C":
                if node.attr not in PUBLIC:
                    yield f"_C.{node.attr}"


@pytest.mark.skipif(PACKAGES is None, reason="the tree of all distributions is not here")
def test_distributions_lean_on_seams_only():
    private = {p.stem for p in CORE.iterdir() if p.name.startswith("_") and not p.name.startswith("__")}
    private = private - THEIR_OWN - {"_C"}
    found = {}
    for package in sorted(PACKAGES.iterdir()):
        if package.name in ("torch", "torch-core", "torch-core-cuda") or not (package / "src").is_dir():
            continue
        for file in (package / "src").rglob("*.py"):
            if names := set(leaned_on(file, private)):
                found[str(file.relative_to(PACKAGES))] = names
    assert not found
