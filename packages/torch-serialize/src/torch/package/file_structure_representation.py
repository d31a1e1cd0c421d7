"""What an archive holds, as a tree."""

from __future__ import annotations

from collections.abc import Iterable

from .glob_group import GlobGroup

__all__ = ["Directory"]


class Directory:
    """A folder or file of an archive; printed, it shows the tree below.

    >>> tree = Directory("box", True)
    >>> tree._add("shop/prices.py")
    >>> print(tree, tree.has_file("shop/prices.py"))
    ─── box
        └── shop
            └── prices.py
     True
    """

    def __init__(self, name: str, is_dir: bool):
        self.name, self.is_dir = name, is_dir
        self.children: dict[str, Directory] = {}

    def _add(self, path: str) -> None:
        first, _, rest = path.partition("/")
        child = self.children.setdefault(first, Directory(first, bool(rest)))
        if rest:
            child._add(rest)

    def has_file(self, filename: str) -> bool:
        """Whether there is a file of this path below."""
        found: Directory | None = self
        for part in filename.split("/"):
            found = found.children.get(part) if found is not None else None
        return found is not None

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in [f"─── {self.name}", *(f"    {line}" for line in self._lines())])

    def _lines(self) -> list[str]:
        # Folders first, each kind by name.
        children = sorted(self.children.values(), key=lambda child: (not child.is_dir, child.name))
        lines = []
        for child in children:
            last = child is children[-1]
            lines.append(("└── " if last else "├── ") + child.name)
            lines += [("    " if last else "│   ") + line for line in child._lines()]
        return lines


def tree(name: str, paths: Iterable[str], include, exclude) -> Directory:
    """The tree of the paths that a group of patterns admits."""
    group = GlobGroup(include, exclude=exclude, separator="/")
    top = Directory(name, True)
    for path in paths:
        if group.matches(path):
            top._add(path)
    return top
