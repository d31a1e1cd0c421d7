"""Modules import each other in one direction: what is imported while a module is made never needs that module itself."""

import ast
import graphlib
from pathlib import Path

import pytest

from packages import ROOT


def modules_of(folder):
    """{name: file} of all modules below a folder that stands in sys.path."""
    found = {}
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports_of(body):
    """The imports that run when a module does: none within functions, or for type checkers only."""
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports_of(node.orelse)
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.ClassDef)):
            for inner in ("body", "orelse", "finalbody"):
                yield from imports_of(getattr(node, inner, []))
            for handler in getattr(node, "handlers", []):
                yield from imports_of(handler.body)


def own_names(tree):
    """What a package defines itself: neither its modules nor what is compiled."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (a.asname or a.name for a in node.names)


def graph_of(modules):
    """{module: modules that it imports}."""
    trees = {name: ast.parse(file.read_text()) for name, file in modules.items()}
    graph = {}
    for name, tree in trees.items():
        package = name if modules[name].name == "__init__.py" else name.rpartition(".")[0]
        needs = graph[name] = set()
        for node in imports_of(tree.body):
            if isinstance(node, ast.Import):
                needs |= {a.name for a in node.names if a.name in modules}
                continue
            up = package.split(".")[: -(node.level - 1) or None] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            for a in node.names:
                if f"{base}.{a.name}" in modules:
                    needs.add(f"{base}.{a.name}")
                elif base in modules and (base != package or a.name in set(own_names(trees[base]))):
                    needs.add(base)
        needs.discard(name)
    return graph


def circle(folder):
    """The modules of a circle, or none."""
    try:
        graphlib.TopologicalSorter(graph_of(modules_of(folder))).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("package", sorted(p.name for p in (ROOT / "packages").iterdir() if (p / "src").is_dir()))
def test_modules_of_a_distribution_import_each_other_in_one_direction(package):
    assert circle(ROOT / "packages" / package / "src") == []


def test_a_circle_is_found(tmp_path):
    package = tmp_path / "box"
    package.mkdir()
    (package / "__init__.py").write_text("from .lid import open\n")
    (package / "lid.py").write_text("from . import hinge\n\ndef open(): ...\n")
    (package / "hinge.py").write_text("def turn():\n    from .lid import open\n")
    assert circle(tmp_path) == []
    Path(package / "hinge.py").write_text("from .lid import open\n")
    assert set(circle(tmp_path)) == {"box.lid", "box.hinge"}
