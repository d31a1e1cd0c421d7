"""Reads packages: their modules are imported into a world of their own, whose builtins import from the package first."""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import io
import linecache
import os
import pickle
import types
from collections.abc import Callable
from typing import Any

from torch.serialize._errors import CorruptPickleError, FileFormatError
from torch.serialize._file_reader import PyTorchFileReader

from ._mangling import demangle, new_prefix
from ._package_unpickler import PackageUnpickler, raised_by_stream
from .file_structure_representation import Directory, tree
from .importer import Importer

#: Modules of the environment that the code of tensors asks for, named in the package or not.
IMPLIED = ("numpy", "numpy.core", "numpy._core", "builtins")


class PackageImporter(Importer):
    """The contents of a package: a path, a binary file object that can seek, or its reader.

    Loading runs the code in the package, by design: open only packages that you trust. Modules that are not in it are
    taken from the environment where the package names them as extern and ``module_allowed`` agrees.

    >>> import io
    >>> from torch.package import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file) as exporter:
    ...     exporter.save_source_string("shop.prices", "milk = 120")
    >>> PackageImporter(file).import_module("shop.prices").milk
    120
    """

    def __init__(self, file_or_buffer: Any, module_allowed: Callable[[str], bool] = lambda name: True):
        if isinstance(file_or_buffer, PyTorchFileReader):
            self.zip_reader, self.filename = file_or_buffer, "<pytorch_file_reader>"
        else:
            path = isinstance(file_or_buffer, (str, os.PathLike))
            self.filename = os.fsdecode(file_or_buffer) if path else "<binary>"
            self.zip_reader = PyTorchFileReader(file_or_buffer)
        self._prefix = new_prefix()
        self._records = set(self.zip_reader.get_all_records())
        self._folders = {r.rpartition("/")[0] for r in self._records}
        for folder in list(self._folders):
            words = folder.split("/")
            self._folders |= {"/".join(words[:n]) for n in range(1, len(words))}
        listed = self._text(".data/extern_modules").split("\n")
        self.extern_modules = [name for name in listed if name]
        for name in self.extern_modules:
            if not module_allowed(name):
                raise ImportError(
                    f"package '{self.filename}' needs the external module '{name}' but that module has been disallowed"
                )
        self.modules: dict[str, types.ModuleType] = {}
        self._storages: dict[str, Any] = {}
        self._builtins = types.ModuleType("builtins")
        self._builtins.__dict__.update(vars(builtins), __import__=self._import)

    # -- what is in it ------------------------------------------------------------------------------------------------

    def id(self) -> str:
        """What stands before the names of this package's modules."""
        return self._prefix

    def python_version(self) -> str | None:
        """The version of Python that wrote the package, where it says so."""
        return self._text(".data/python_version") if ".data/python_version" in self._records else None

    def file_structure(self, *, include: Any = "**", exclude: Any = ()) -> Directory:
        """The files of the package as a tree, those that the patterns admit."""
        return tree(self.filename, sorted(self._records), include, exclude)

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a resource."""
        return self._read(f"{package.replace('.', '/')}/{resource}")

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a resource."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """The object of a pickle; ``map_location`` says where its tensors go, as in ``torch.load``."""
        data = self.load_binary(package, resource)
        try:
            return PackageUnpickler(self, io.BytesIO(data), self._storages, map_location).load()
        except Exception as error:
            if not raised_by_stream(error):
                raise
            raise CorruptPickleError(
                f"load_pickle: {package}/{resource} of {self.filename} is damaged: {type(error).__name__}: {error}"
            ) from error

    def _read(self, title: str) -> bytes:
        if title not in self._records:
            raise RuntimeError(f"PackageImporter: {self.filename} has no file {title!r}")
        return self.zip_reader.get_record(title)

    def _text(self, title: str) -> str:
        try:
            return self._read(title).decode()
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"PackageImporter: {self.filename} is damaged: {title} is no text ({error})"
            ) from None

    # -- importing ----------------------------------------------------------------------------------------------------

    def import_module(self, name: str, package: str | None = None) -> types.ModuleType:
        """The module of the package, or the extern one, of that name."""
        if name.startswith("."):
            if not package:
                raise TypeError(f"import_module: the relative import of {name!r} needs the argument 'package'")
            name = importlib.util.resolve_name(name, demangle(package))
        return self._module(demangle(name))

    def get_source(self, module_name: str) -> str:
        """The source of a module of the package."""
        path = self._file(demangle(module_name))
        if path is None:
            raise self._missing(demangle(module_name))
        return self._text(path)

    def get_resource_reader(self, fullname: str) -> Any:
        """What ``importlib.resources`` reads resources with; None for a module that is no package."""
        from ._resources import Reader

        name = demangle(fullname)
        return Reader(self, name) if self._is_package(name) else None

    def _file(self, name: str) -> str | None:
        path = name.replace(".", "/")
        return next((f for f in (f"{path}/__init__.py", f"{path}.py") if f in self._records), None)

    def _is_package(self, name: str) -> bool:
        file = self._file(name)
        return file.endswith("/__init__.py") if file else name.replace(".", "/") in self._folders

    def _is_extern(self, name: str) -> bool:
        # What lies below an extern module is extern, and so is what it lies in.
        words = name.split(".")
        above = {".".join(words[:n]) for n in range(1, len(words) + 1)}
        listed = [*self.extern_modules, *IMPLIED]
        return not above.isdisjoint(listed) or any(other.startswith(f"{name}.") for other in self.extern_modules)

    def _missing(self, name: str) -> ModuleNotFoundError:
        return ModuleNotFoundError(
            f'No module named "{name}" in self-contained archive "{self.filename}" and the module is also not in the '
            f"list of allowed external modules: {self.extern_modules}",
            name=name,
        )

    def _module(self, name: str) -> types.ModuleType:
        found = self.modules.get(name)
        if found is not None:
            return found
        if name == "torch_package_importer":
            return self  # type: ignore[return-value]
        file = self._file(name)
        if file is None and not self._is_package(name):
            if not self._is_extern(name):
                raise self._missing(name)
            return importlib.import_module(name)
        parent, _, last = name.rpartition(".")
        if parent:
            above = self._module(parent)
            if name in self.modules:  # the package itself imported it
                return self.modules[name]
        module = self._execute(name, file)
        if parent:
            setattr(above, last, module)
        return module

    def _execute(self, name: str, file: str | None) -> types.ModuleType:
        is_package = self._is_package(name)
        module = types.ModuleType(f"{self._prefix}.{name}")
        spec = importlib.machinery.ModuleSpec(name, self, origin="<package_importer>", is_package=is_package)  # type: ignore[arg-type]
        module.__dict__.update(
            __package__=name if is_package else name.rpartition(".")[0], __loader__=self, __spec__=spec, __cached__=None,
            __file__=f"{self._prefix}.{file}" if file else None, __torch_package__=True, __builtins__=self._builtins,
        )  # fmt: skip
        if is_package:
            module.__path__ = []
        self.modules[name] = module
        if file is None:
            return module
        source = self._text(file)
        where = module.__file__ or ""
        linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
        try:
            exec(compile(source, where, "exec", dont_inherit=True), module.__dict__)
        except BaseException:
            del self.modules[name]
            raise
        return self.modules[name]

    def _import(self, name, globals=None, locals=None, fromlist=(), level=0):
        """``__import__`` of the code in this package."""
        if level:
            package = demangle((globals or {}).get("__package__") or "")
            name = importlib.util.resolve_name("." * level + name, package)
        module = self._module(name)
        if not fromlist:
            first = name.partition(".")[0]
            return module if level else self._module(first)
        if hasattr(module, "__path__"):
            words = getattr(module, "__all__", ()) if "*" in fromlist else fromlist
            for word in words:
                if not hasattr(module, word):
                    try:
                        self._module(f"{name}.{word}")
                    except ModuleNotFoundError as error:
                        if error.name != f"{name}.{word}":
                            raise
        return module

    def whichmodule(self, obj: Any, name: str) -> str:
        module = getattr(obj, "__module__", None)
        return module if module is not None else pickle.whichmodule(obj, name)

    def __repr__(self) -> str:
        return f"PackageImporter({self.filename!r}, {self._prefix})"
