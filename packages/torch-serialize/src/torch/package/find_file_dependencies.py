"""The modules that a source imports, as its text tells."""

from __future__ import annotations

import ast

__all__ = ["find_files_source_depends_on"]


def find_files_source_depends_on(src: str, package: str = "") -> list[tuple[str, str | None]]:
    """Pairs of a module and a name taken from it, or None; `package` is what relative imports begin at.

    >>> find_files_source_depends_on("import a.b; from c import d; from . import e; __import__('f')", "shop")
    [('a.b', None), ('c', 'd'), ('shop', 'e'), ('f', None)]
    """
    found: dict[tuple[str, str | None], None] = {}
    tree = ast.parse(src)
    for node in sorted((n for n in ast.walk(tree) if hasattr(n, "lineno")), key=lambda n: (n.lineno, n.col_offset)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, None): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node.module or "", node.level, package)
            found |= {(module, None if alias.name == "*" else alias.name): None for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                found[node.args[0].value, None] = None
    return list(found)


def _absolute(module: str, level: int, package: str) -> str:
    if not level:
        return module
    words = package.split(".")
    base = ".".join(words[: len(words) - level + 1])
    return f"{base}.{module}" if base and module else base or module
