"""Counts the docstrings that have an example, of the names in documented.txt.

python ci/documented.py          # a line for each part, and the names that lack one
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import warnings

from packages import ROOT

FILE = ROOT / "ci" / "documented.txt"


def names() -> dict[str, list[str]]:
    """The names by part."""
    found: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        if line.startswith("["):
            part = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            part.append(line)
    return found


def value(name: str) -> object | None:
    """What a name stands for: the longest module in front, then attributes; None where there is nothing.

    >>> value("math.pi.real") > 3, value("math.no_such_thing")
    (True, None)
    """
    words = name.split(".")
    for n in range(len(words), 0, -1):
        try:
            found = importlib.import_module(".".join(words[:n]))
        except Exception:
            continue
        try:
            for word in words[n:]:
                found = getattr(found, word)
        except (AttributeError, NotImplementedError, ImportError):
            continue
        if n == len(words) and n > 1:  # torch.optim.sgd is a module and a function; users get the function
            found = getattr(sys.modules[".".join(words[:-1])], words[-1], found)
        return found
    return None


def text(found: object) -> str | None:
    """The docstring, where we write it: Python words those of its own methods (__add__) and functions (multiprocessing)."""
    if isinstance(found, (types.WrapperDescriptorType, types.NoneType)):
        return None
    module = getattr(found, "__module__", None) or "torch"
    if module.split(".")[0] not in ("torch", "torch_core"):
        return None
    return (found.__doc__ if inspect.isclass(found) else inspect.getdoc(found)) or ""


def count() -> dict[str, tuple[int, list[str]]]:
    """For each part how many docstrings are ours, and the names of those without an example."""
    result = {}
    for part, listed in names().items():
        texts = {name: text(value(name)) for name in listed}
        ours = {name: t for name, t in texts.items() if t is not None}
        result[part] = len(ours), [name for name, t in ours.items() if ">>>" not in t]
    return result


def main() -> None:
    warnings.simplefilter("ignore")
    for part, (ours, lacking) in count().items():
        print(f"{part:24}{ours - len(lacking):5} of {ours}", *(f"    {name}" for name in lacking), sep="\n")


if __name__ == "__main__":
    main()
