"""Where modules that cannot be packed come from."""

from __future__ import annotations

from .._errors import PackagingError

__all__ = ["find_first_use_of_broken_modules"]


def find_first_use_of_broken_modules(exc: PackagingError) -> dict[str, list[str]]:
    """For each module that an error names, a shortest way of imports that leads to it.

    >>> import io
    >>> from torch.package import PackageExporter
    >>> try:
    ...     with PackageExporter(io.BytesIO()) as exporter:
    ...         exporter.save_source_string("shop", "import numpy")
    ... except PackagingError as error:
    ...     print(find_first_use_of_broken_modules(error))
    {'numpy': ['shop', 'numpy']}
    """
    if not isinstance(exc, PackagingError):
        raise TypeError(f"find_first_use_of_broken_modules: expected a PackagingError, got {type(exc).__name__}")
    graph = exc.dependency_graph
    return {name: graph.first_path(name) for name, notes in graph.nodes.items() if "error" in notes}
