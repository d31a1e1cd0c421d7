"""``importlib.resources`` over the files of a package."""

from __future__ import annotations

import io
import sys
from typing import Any

if sys.version_info >= (3, 11):  # importlib.abc has lost it in 3.14
    from importlib.resources.abc import ResourceReader
else:
    from importlib.abc import ResourceReader


class Reader(ResourceReader):
    """The resources beside one package of an importer."""

    def __init__(self, importer: Any, name: str):
        self._importer, self._folder = importer, name.replace(".", "/") + "/"

    def open_resource(self, resource: str) -> io.BytesIO:
        if not self.is_resource(resource):
            raise FileNotFoundError(f"{self._importer.filename} has no file {self._folder + resource!r}")
        return io.BytesIO(self._importer._read(self._folder + resource))

    def resource_path(self, resource: str) -> str:
        raise FileNotFoundError("resources of a package lie in its archive, and have no path")

    def is_resource(self, path: str) -> bool:
        return self._folder + path in self._importer._records

    def contents(self):
        own = [r[len(self._folder) :] for r in self._importer._records if r.startswith(self._folder)]
        return sorted({name.partition("/")[0] for name in own})
