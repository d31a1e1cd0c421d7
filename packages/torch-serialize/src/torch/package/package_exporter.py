"""Writes packages: which modules go in, which are to be there when the package is loaded, and which are left out."""

from __future__ import annotations

import importlib.machinery
import inspect
import platform
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from . import _rules
from ._digraph import DiGraph
from ._errors import EmptyMatchError, PackagingError, Reason
from ._mangling import demangle, is_mangled
from ._package_pickler import PackagePickler, Storages, globals_of
from ._writer import Writer
from .find_file_dependencies import find_files_source_depends_on
from .importer import Importer, OrderedImporter, sys_importer

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError"]

Patterns = str | Iterable[str]
_ALWAYS_THERE = sys.stdlib_module_names | {"torch"}
_MOCK = Path(__file__).with_name("_mock.py")
_MOCKED = """\
from _mock import MockedObject


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return MockedObject(__name__ + "." + name, _suppress_err=True)
"""


class PackageExporter:
    """Writes a package to a path or a binary file object; use it in a ``with`` block, at whose end the file is there.

    Each module that is needed must match a pattern: :meth:`intern` packs its source, :meth:`extern` leaves it to the
    environment, :meth:`mock` puts something in its place that may be imported but not used, :meth:`deny` refuses it. The
    first pattern that matches counts. torch, and the standard library except for ``sys``, are extern in any case.

    >>> import io
    >>> file = io.BytesIO()
    >>> with PackageExporter(file) as exporter:
    ...     exporter.save_pickle("weights", "w.pkl", {"w": torch.ones(2)})
    >>> exporter.externed_modules()
    ['collections', 'torch', 'torch._utils']
    """

    def __init__(self, f: Any, importer: Importer | Sequence[Importer] = sys_importer, debug: bool = False) -> None:
        self.importer = importer if isinstance(importer, Importer) else OrderedImporter(*importer)
        self.debug = debug
        self.dependency_graph = DiGraph()
        self.patterns: list[_rules.Rule] = []
        self._writer: Writer | None = Writer(f)
        self._storages = Storages()
        self._hooks: dict[str, OrderedDict[int, Callable]] = {
            w: OrderedDict() for w in (_rules.INTERN, _rules.EXTERN, _rules.MOCK)
        }
        self._count = 0

    # -- the modules that go in ---------------------------------------------------------------------------------------

    def intern(self, include: Patterns, *, exclude: Patterns = (), allow_empty: bool = True) -> None:
        """Pack the source of modules that match; with ``allow_empty=False`` some must, or the end raises EmptyMatchError."""
        self._rule(_rules.INTERN, include, exclude, allow_empty)

    def extern(self, include: Patterns, *, exclude: Patterns = (), allow_empty: bool = True) -> None:
        """Leave modules that match to the environment in which the package is loaded."""
        self._rule(_rules.EXTERN, include, exclude, allow_empty)

    def mock(self, include: Patterns, *, exclude: Patterns = (), allow_empty: bool = True) -> None:
        """Put something in the place of modules that match, which raises NotImplementedError when it is used."""
        self._rule(_rules.MOCK, include, exclude, allow_empty)

    def deny(self, include: Patterns, *, exclude: Patterns = ()) -> None:
        """Refuse to write a package that needs modules that match."""
        self._rule(_rules.DENY, include, exclude, True)

    def _rule(self, action: str, include: Patterns, exclude: Patterns, allow_empty: bool) -> None:
        self.patterns.append(_rules.Rule(action, include, exclude, allow_empty))

    # -- what goes in -------------------------------------------------------------------------------------------------

    def save_pickle(
        self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3
    ) -> None:
        """Put in a pickle of an object, its tensors beside it, and with ``dependencies`` the modules of its classes."""
        if not 2 <= pickle_protocol <= 5:
            raise ValueError(f"save_pickle: pickle_protocol must be 2 to 5, got {pickle_protocol!r}")
        adapter = self._storages.adapter()
        data = PackagePickler(self.importer, adapter, pickle_protocol).dumps(obj)
        for number, payload in self._storages.new(adapter):
            self._record(f".data/{number}.storage", payload)
        path = self._path(package, resource)
        self._record(path, data)
        node = f"<{package}.{resource}>"
        self.dependency_graph.add_node(node, action=_rules.INTERN, is_pickle=True)
        if dependencies:
            for module, _ in globals_of(data):
                self.dependency_graph.add_edge(node, module)
                self.add_dependency(module)

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Put in a text, as UTF-8."""
        self.save_binary(package, resource, text.encode("utf-8"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Put in any bytes."""
        self._record(self._path(package, resource), binary)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Put in a module's source, whatever the patterns say, and with ``dependencies`` what it imports."""
        if not isinstance(module_name, str):
            raise TypeError("save_module() expects a string input, did you perhaps mean to pass `__name__`?")
        self._intern(module_name, dependencies)

    def save_source_file(self, module_name: str, file_or_directory: Any, dependencies: bool = True) -> None:
        """Put in a Python file, or all those of a folder, under a name of your choice."""
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(module_name, path.read_text("utf-8"), False, dependencies)
            return
        found = []
        for file in sorted(path.rglob("*.py")):
            words = [*module_name.split("."), *file.relative_to(path).with_suffix("").parts]
            is_package = words[-1] == "__init__"
            found.append((".".join(words[:-1] if is_package else words), file.read_text("utf-8"), is_package))
        for name, source, is_package in found:  # all are there before one of them asks for another
            self._provide(name, source, is_package)
        for name, source, is_package in found:
            self._depends(name, source, is_package, dependencies)

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Put in a module with this source."""
        self._provide(module_name, src, is_package)
        self._depends(module_name, src, is_package, dependencies)

    def _provide(self, name: str, source: str, is_package: bool) -> None:
        self.dependency_graph.add_node(name, action=_rules.INTERN, source=source, is_package=is_package)
        self.dependency_graph.nodes[name].pop("error", None)  # it was asked for before it was given

    def _depends(self, name: str, source: str, is_package: bool, dependencies: bool) -> None:
        if not dependencies:
            return
        try:
            found = find_files_source_depends_on(source, name if is_package else name.rpartition(".")[0])
        except SyntaxError as error:
            note = f"line {error.lineno}: {error.msg}"
            self.dependency_graph.add_node(name, error=Reason.DEPENDENCY_RESOLUTION_FAILED, context=note)
            return
        for module, word in found:
            needed = f"{module}.{word}" if word and self._is_module(f"{module}.{word}") else module
            if needed:
                self.dependency_graph.add_edge(name, needed)
                self.add_dependency(needed)

    def _is_module(self, name: str) -> bool:
        if name in self.dependency_graph:
            return True
        try:
            self.importer.import_module(name)
        except Exception:  # whatever importing it does: then it is a name, or its module tells
            return False
        return True

    # -- dependencies -------------------------------------------------------------------------------------------------

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Treat a module as the patterns say, as if something in the package imported it."""
        graph = self.dependency_graph
        if "action" in graph.nodes.get(module_name, {}) or "error" in graph.nodes.get(module_name, {}):
            return
        if module_name == "_mock" or module_name == "torch_package_importer":
            graph.add_node(module_name, action=_rules.SKIP)
            return
        if module_name.partition(".")[0] in _ALWAYS_THERE and module_name != "sys":
            graph.add_node(module_name, action=_rules.EXTERN)
            return
        for rule in self.patterns:
            if rule.matches(module_name):
                self._act(rule.action, module_name, dependencies)
                return
        graph.add_node(module_name, error=Reason.NO_ACTION)

    def _act(self, action: str, name: str, dependencies: bool) -> None:
        if action == _rules.DENY:
            self.dependency_graph.add_node(name, action=action, error=Reason.DENIED)
        elif action == _rules.INTERN:
            try:
                self._intern(name, dependencies)
            except ImportError:  # it fails in the package as it does here
                self.dependency_graph.add_node(name, action=_rules.SKIP)
            except Exception as error:  # whatever the module does when it is imported
                note = f"{type(error).__name__}: {error}"
                self.dependency_graph.add_node(name, error=Reason.DEPENDENCY_RESOLUTION_FAILED, context=note)
        else:
            self.dependency_graph.add_node(name, action=action)

    def _intern(self, name: str, dependencies: bool) -> None:
        self.dependency_graph.add_node(name, action=_rules.INTERN)
        module = self.importer.import_module(name)
        file = getattr(module, "__file__", None)
        is_package = hasattr(module, "__path__")
        error = None
        source = None
        if file is None:
            error = Reason.NO_DUNDER_FILE
            if is_package:  # a folder without __init__.py
                error, source = None, ""
        elif file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
            error = Reason.IS_EXTENSION_MODULE
        else:
            source = self._source(module)
            error = Reason.SOURCE_FILE_NOT_FOUND if source is None else None
        if error is not None:
            self.dependency_graph.add_node(
                name, error=error, context=f"filename: {file}" if error is Reason.SOURCE_FILE_NOT_FOUND else None
            )
            return
        self._provide(name, source, is_package)
        self._depends(name, source, is_package, dependencies)

    @staticmethod
    def _source(module: Any) -> str | None:
        loader = getattr(module, "__loader__", None)
        try:
            if hasattr(loader, "get_source"):
                name = module.__name__
                return loader.get_source(demangle(name) if is_mangled(name) else name)
            return inspect.getsource(module)
        except (OSError, ImportError, TypeError):
            return None

    # -- hooks and questions ------------------------------------------------------------------------------------------

    def register_intern_hook(self, hook: Callable[[PackageExporter, str], None]) -> Any:
        """Call ``hook(exporter, module_name)`` for each module that is packed; the handle takes it away again."""
        return self._register(_rules.INTERN, hook)

    def register_extern_hook(self, hook: Callable[[PackageExporter, str], None]) -> Any:
        """Call ``hook(exporter, module_name)`` for each module that is left to the environment."""
        return self._register(_rules.EXTERN, hook)

    def register_mock_hook(self, hook: Callable[[PackageExporter, str], None]) -> Any:
        """Call ``hook(exporter, module_name)`` for each module that is mocked."""
        return self._register(_rules.MOCK, hook)

    def _register(self, action: str, hook: Callable) -> _rules.Handle:
        return _rules.Handle(self._hooks[action], hook)

    def _with(self, action: str) -> list[str]:
        nodes = self.dependency_graph.nodes.items()
        return sorted(n for n, notes in nodes if notes.get("action") == action and not notes.get("is_pickle"))

    def interned_modules(self) -> list[str]:
        """The modules that are packed."""
        return self._with(_rules.INTERN)

    def externed_modules(self) -> list[str]:
        """The modules that are left to the environment."""
        return self._with(_rules.EXTERN)

    def mocked_modules(self) -> list[str]:
        """The modules that are mocked."""
        return self._with(_rules.MOCK)

    def denied_modules(self) -> list[str]:
        """The modules that are refused."""
        return self._with(_rules.DENY)

    def get_rdeps(self, module_name: str) -> list[str]:
        """The modules that import this one."""
        return list(self.dependency_graph.predecessors(module_name)) if module_name in self.dependency_graph else []

    def all_paths(self, src: str, dst: str) -> str:
        """All ways of imports from one module to another, in the language of Graphviz."""
        return self.dependency_graph.all_paths(src, dst)

    def dependency_graph_string(self) -> str:
        """All imports, in the language of Graphviz."""
        return self.dependency_graph.to_dot()

    def get_unique_id(self) -> str:
        """Another number each time, for names of resources."""
        self._count += 1
        return str(self._count - 1)

    # -- the file -----------------------------------------------------------------------------------------------------

    @staticmethod
    def _path(package: str, resource: str) -> str:
        words = [*package.split("."), *resource.split("/")]
        if any(w in ("", ".", "..") for w in words) or words[0] == ".data":
            raise ValueError(f"PackageExporter: {package!r} and {resource!r} make no path within a package")
        return "/".join(words)

    def _record(self, title: str, data: Any) -> None:
        if self._writer is None:
            raise RuntimeError("PackageExporter: the package is closed")
        self._writer.record(title, data)

    def close(self) -> None:
        """Write the modules and the directory; PackagingError where one of them cannot be packed."""
        if self._writer is None:
            return
        try:
            if any(not rule.allow_empty and not rule.matched for rule in self.patterns):
                rule = next(rule for rule in self.patterns if not rule.allow_empty and not rule.matched)
                raise EmptyMatchError(
                    f"Exporter did not match any modules to {rule.group}, which was marked as allow_empty=False"
                )
            if any("error" in notes for notes in self.dependency_graph.nodes.values()):
                raise PackagingError(self.dependency_graph, self.debug)
            self._modules()
            self._writer.end()
        except BaseException:
            self._writer.drop()
            raise
        finally:
            self._writer = None

    def _modules(self) -> None:
        mocked = False
        for name, notes in list(self.dependency_graph.nodes.items()):
            for hook in list(self._hooks.get(notes.get("action", ""), {}).values()):
                hook(self, name)
            path = name.replace(".", "/")
            if notes.get("action") == _rules.MOCK:
                if not mocked:
                    self._record("_mock.py", _MOCK.read_bytes())
                mocked = True
                is_package = hasattr(self._find(name), "__path__")
                self._record(f"{path}/__init__.py" if is_package else f"{path}.py", _MOCKED.encode())
            elif "source" in notes:
                title = f"{path}/__init__.py" if notes["is_package"] else f"{path}.py"
                self._record(title, notes["source"].encode("utf-8"))
        self._record(".data/extern_modules", "\n".join(self.externed_modules()).encode())
        self._record(".data/python_version", platform.python_version().encode())
        self._record(".data/version", b"6\n")
        self._record("byteorder", sys.byteorder.encode())

    def _find(self, name: str) -> Any:
        try:
            return self.importer.import_module(name)
        except ImportError:
            return None

    def __enter__(self) -> PackageExporter:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
        elif self._writer is not None:
            self._writer.drop()
            self._writer = None
