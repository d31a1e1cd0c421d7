"""The pages of Python modules, from their docstrings; of big ones each class has a page of its own."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
from pathlib import Path

import torch

from .catalogue import Operator, is_operator, operators
from .operators import heading
from .words import escaped

CROWDED = 60  # classes: from here on each has its own page
SIDEBAR = ("torch", "torch.autograd", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.optim", "torch.optim.lr_scheduler",
           "torch.utils.data", "torch.serialize", "torch.multiprocessing", "torch.distributions", "torch.linalg", "torch.sparse",
           "torch.func", "torch.random", "torch.testing", "torch.utils", "torch.legacy.nn", "torch.legacy.optim")  # fmt: skip


def modules() -> dict[str, dict[str, object]]:
    """The public modules of every part that is installed, and what is documented on the page of each.

    A function or class stands on the page of the module with the shortest name that has it, where users import it from;
    a module whose names all stand further up has no page.
    """
    names = {"torch"}
    roots = [torch, *(importlib.import_module(f"torch.{p}") for p in torch._parts.PARTS if hasattr(torch, p))]
    for root in roots:
        names.add(root.__name__)
        for module in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
            source = module.module_finder.find_spec(module.name).origin or ""
            if source.endswith(".py") and not any(word.startswith("_") for word in module.name.split(".")):
                names.add(module.name)
    found: dict[str, dict[str, object]] = {}
    seen: set[int] = set()
    for name in sorted(names, key=lambda n: (n.count("."), n)):
        module = importlib.import_module(name)
        if isinstance(module, types.ModuleType):
            own = {n: v for n, v in members(module).items() if id(v) not in seen}
            seen |= {id(v) for v in own.values()}
            if own:
                found[name] = own
    return dict(sorted(found.items()))


def members(module: types.ModuleType) -> dict[str, object]:
    """The public functions and classes of a module that have a docstring and are written in it or below it."""
    listed = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {}
    for name in sorted(set(listed)):
        try:
            value = getattr(module, name)
        except (AttributeError, NotImplementedError, ImportError):
            continue
        owner = f"{getattr(value, '__module__', None)}."
        ours = owner.startswith(module.__name__ + ".")
        if module.__name__ == "torch":  # not the names that it takes from its parts
            ours = owner.count(".") == 1 or owner.startswith("torch._")
        callable_ = inspect.isclass(value) or inspect.isroutine(value)
        documented = value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)
        if ours and callable_ and documented and not is_operator(value):
            found[name] = value
    return found


def sentence(value: object) -> str:
    """The first sentence of a docstring, on one line."""
    first = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return escaped(" ".join(first.split()))


def automatic(name: str, value: object) -> list[str]:
    """The directive that documents one name."""
    if value is torch.Tensor:
        return tensor()
    if inspect.isclass(value):
        return [f".. autoclass:: {name}", "   :members:", "   :show-inheritance:", ""]
    return [f".. autofunction:: {name}", ""]


def tensor() -> list[str]:
    """The page of torch.Tensor: methods that are operators have their pages, the others stand here."""
    lines = [".. autoclass:: torch.Tensor", "", *heading("Operators", "-")]
    methods = {n.rpartition(".")[2]: o.key for o in operators() for n in o.names if n.startswith("torch.Tensor.")}
    lines += [", ".join(f":doc:`{n} </operators/{key}>`" for n, key in sorted(methods.items())) + ".", ""]
    lines += heading("Attributes and other methods", "-")
    for name, value in sorted(vars(torch.Tensor).items()):
        if name.startswith("_") or name in methods or is_operator(value) or not getattr(value, "__doc__", None):
            continue
        if inspect.isclass(value):
            continue
        kind = "automethod" if inspect.isroutine(value) else "autoattribute"
        lines += [f".. {kind}:: torch.Tensor.{name}", ""]
    return lines


def page(name: str, found: dict[str, object], all_operators: list[Operator], folder: Path) -> str:
    """The page of one module; pages of classes are written beside it."""
    # torch.autograd.gradcheck is a module and a function: the index has the function.
    parent, _, last = name.rpartition(".")
    shared = parent and inspect.isroutine(getattr(importlib.import_module(parent), last, None))
    lines = heading(name, "=") + [f".. automodule:: {name}", "   :no-members:", *["   :no-index:"] * bool(shared), ""]
    lines += [f".. py:currentmodule:: {name}", ""]
    classes = {n for n, v in found.items() if inspect.isclass(v)}
    apart = classes if len(classes) >= CROWDED else classes & {"Tensor"}
    if apart:
        lines += [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
        for n in sorted(apart):
            lines += [f"   * - :doc:`{n} <{name}.{n}>`", f"     - {sentence(found[n])}"]
            text = [":orphan:", "", *heading(f"{name}.{n}", "="), f".. py:currentmodule:: {name}", ""]
            (folder / f"{name}.{n}.rst").write_text("\n".join(text + automatic(f"{name}.{n}", found[n])) + "\n")
        lines.append("")
    own = [o for o in all_operators if o.title.rpartition(".")[0] == name]
    if own:
        lines += heading("Operators", "-")
        lines += [", ".join(f":doc:`{o.title.rpartition('.')[2]} </operators/{o.key}>`" for o in own) + ".", ""]
    for n, value in found.items():
        if n not in apart:
            lines += automatic(f"{name}.{n}", value)
    return "\n".join(lines) + "\n"


def write(folder: Path, all_operators: list[Operator]) -> dict[str, dict[str, object]]:
    """All pages into folder/modules."""
    into = folder / "modules"
    into.mkdir(parents=True, exist_ok=True)
    names = modules()
    for name in names:
        (into / f"{name}.rst").write_text(page(name, names[name], all_operators, into))
    lines = heading("Modules", "=") + [
        "Every public module, with its functions and classes. The examples in their docstrings run in the tests.",
        "",
        ".. list-table::",
        "   :widths: 30 70",
        "   :class: names",
        "",
    ]
    for name in names:
        lines += [f"   * - :doc:`{name}`", f"     - {sentence(importlib.import_module(name))}"]
    # The sidebar is on every page: it names what is looked for most, the table above and the search have the rest.
    parts = [n for n in SIDEBAR if n in names]
    lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {n}" for n in parts)]
    for name in names:
        if name not in parts:
            file = into / f"{name}.rst"
            file.write_text(":orphan:\n\n" + file.read_text())
    (into / "index.rst").write_text("\n".join(lines) + "\n")
    return names
