"""Archives of objects together with the source of their classes: what is packed today runs where the source is gone.

A package is a zip that :class:`PackageExporter` writes and :class:`PackageImporter` reads: pickles, the Python files that they
need (``intern``), and the names of modules that are to be there when it is loaded (``extern``). Modules of a package are
apart from those of ``sys.modules``: two packages may hold two versions of a class.

Loading a package runs the code in it, by design: open only those that you trust. (``torch.load`` runs nothing.) The zip itself is
read as checkpoints are: a damaged or hostile directory is one clear error.

>>> import io, fractions
>>> file = io.BytesIO()
>>> with PackageExporter(file) as exporter:
...     exporter.save_source_string("shop", "class Price:\\n    def __init__(self, cents): self.cents = cents\\n")
...     exporter.save_text("shop", "motto.txt", "fresh")
>>> importer = PackageImporter(file)
>>> importer.import_module("shop").Price(120).cents, importer.load_text("shop", "motto.txt")
(120, 'fresh')
"""

from ._mangling import is_from_package
from .file_structure_representation import Directory
from .glob_group import GlobGroup
from .importer import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter, sys_importer
from .package_exporter import EmptyMatchError, PackageExporter, PackagingError
from .package_importer import PackageImporter

__all__ = [
    "Directory", "EmptyMatchError", "GlobGroup", "Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter",
    "PackageExporter", "PackageImporter", "PackagingError", "is_from_package", "sys_importer",
]  # fmt: skip


def __getattr__(name):  # by hand, as torch._seams is not there where NumPy serves in place of torch-core
    if name in ("analyze", "find_file_dependencies"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
