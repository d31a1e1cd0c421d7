"""Options that a tuner found, in files: the best for each definition and sizes."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from torch.tc._options import MappingOptions
from torch.tc._parser import Parser
from torch.tc._source import Source

KEPT = 10  #: options for each definition and sizes


def file_of(cache: Any, name: str) -> str | None:
    """The file that an argument ``cache`` stands for: a path, or True for one in the user's folder of caches."""
    if cache is None or cache is False:
        return None
    if cache is True:
        folder = os.environ.get("TORCH_TC_CACHE")
        if not folder:
            folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "torch", "tc")
        return os.path.join(folder, f"{name}.json")
    return os.fspath(cache)


def key(text: str, name: str, shapes: Any) -> str:
    """What options belong to: the words of the text, not its spaces, a name and sizes."""
    words = [t for t, *_ in Parser(Source(text)).tokens]
    whole = json.dumps([words, name, [list(s) for s in shapes]])
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def read(file: str) -> dict[str, Any]:
    """The entries of a file; none if there is no file."""
    try:
        data = json.loads(Path(file).read_text())
    except FileNotFoundError:
        return {}
    except (ValueError, UnicodeDecodeError):
        data = None
    if not isinstance(data, dict) or data.get("format") != "torch-tc 1" or not isinstance(data.get("entries"), dict):
        raise ValueError(f"tc: {file} is not a cache of tuned options")
    return data["entries"]


def load(file: str, text: str, name: str, shapes: Any, count: int) -> list[MappingOptions]:
    """The best options first, at most so many."""
    entry = read(file).get(key(text, name, shapes))
    try:
        return [MappingOptions.deserialize(one["options"]) for one in entry["found"][:count]] if entry else []
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"tc: {file} holds options that cannot be read: {error}") from None


def store(file: str, text: str, name: str, shapes: Any, found: list[tuple[float, MappingOptions]]) -> None:
    """Add options with their times (microseconds); the file is replaced as a whole."""
    entries = read(file)
    place = key(text, name, shapes)
    known = entries.get(place, {"found": []})["found"]
    fresh = [{"us": round(us, 3), "options": json.loads(o.serialize())} for us, o in found]
    kept = [k for k in known if all(k["options"] != f["options"] for f in fresh)]
    best = sorted(fresh + kept, key=lambda one: one["us"])[:KEPT]
    entries[place] = {"name": name, "shapes": [list(s) for s in shapes], "found": best}
    folder = os.path.dirname(os.path.abspath(file))
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as scratch:
        json.dump({"format": "torch-tc 1", "entries": entries}, scratch, indent=1)
    os.replace(scratch.name, file)


def decode(file: str) -> None:
    """Print what a cache file holds."""
    for entry in read(os.fspath(file)).values():
        sizes = ", ".join(str(tuple(s)) for s in entry["shapes"])
        print(f"{entry['name']}({sizes})")
        for one in entry["found"]:
            print(f"  {one['us']:.1f} us  {MappingOptions.deserialize(one['options'])!r}")
