"""Why a package cannot be written."""

from __future__ import annotations

from enum import Enum

from ._digraph import DiGraph

_SYS = (
    "Note: While we usually use modules in the python standard library from the local environment, `sys` has a lot of "
    "system level access and therefore can pose a security risk. We heavily recommend removing `sys` from your packaged "
    'code. However, if that is not possible, add it to the extern list by calling PackageExporter.extern("`sys`")'
)


class Reason(Enum):
    """What is wrong with a module, in the words that programs look for."""

    IS_EXTENSION_MODULE = "Module is a C extension module. torch.package supports Python modules only."
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."


class EmptyMatchError(Exception):
    """A pattern with ``allow_empty=False`` matched no module."""

    __module__ = "torch.package.package_exporter"


class PackagingError(Exception):
    """Modules that the package needs cannot be packed: the text names them, by reason.

    With ``debug=True`` of the exporter it shows a way of imports that leads to each.
    """

    __module__ = "torch.package.package_exporter"

    def __init__(self, dependency_graph: DiGraph, debug: bool = False):
        self.dependency_graph = dependency_graph
        broken: dict[Reason, list[str]] = {}
        for name, notes in dependency_graph.nodes.items():
            if "error" in notes:
                broken.setdefault(notes["error"], []).append(name)
        lines = [""]
        for reason, names in broken.items():
            lines.append(f"* {reason.value}")
            for name in names:
                lines.append(f"    {name}")
                if context := dependency_graph.nodes[name].get("context"):
                    lines.append(f"      Context: {context}")
                if name == "sys":
                    lines.append(f"      {_SYS}")
                if debug:
                    path = " -> ".join(dependency_graph.first_path(name))
                    lines.append(f"      A path to {name}: {path}")
        if not debug:
            lines += [
                "",
                "Set debug=True when invoking PackageExporter for a visualization of where broken modules are coming from!",
            ]
        super().__init__("\n".join(lines) + "\n")
