"""Holds the public interface of torch-core against its number.

    python ci/interface.py           # fails when headers or rows changed under an unchanged record
    python ci/interface.py record    # after raising TORCH_CORE_INTERFACE, or before its first release

The interface is what a compiled part sees: core/include/**/*.h and the operator rows in *.def. Comments, layout and the
documentation of a row do not count. ci/interface.txt holds one line a number: the number, the hash, and `released` once
a wheel with that number is out; from then on its hash stands.
"""

import hashlib
import re
import sys
from pathlib import Path

from packages import ROOT

RECORD = ROOT / "ci" / "interface.txt"
STRING = r'"(?:[^"\\\n]|\\.)*"'


def bare(text: str) -> str:
    """The text without comments, documentation of rows and layout.

    >>> bare('TORCH_OP(add, "add(Tensor a)", Attr(), "Adds.") // why')
    'TORCH_OP(add,"add(Tensor a)",Attr())'
    """
    keep_strings = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.S)
    text = keep_strings.sub(lambda m: m[1] or " ", text)
    text = re.sub(rf"(TORCH_[A-Z_]+\((?:[^()\"]|{STRING}|\([^()]*\))*?),\s*(?:{STRING}\s*)+\)", r"\1)", text)
    pieces = re.split(rf"({STRING})", text)
    squeezed = [p if p.startswith('"') else re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(p.split())) for p in pieces]
    return "".join(squeezed).strip()


def fingerprint(include: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in include.rglob("*") if p.suffix in (".h", ".def")):
        digest.update(f"{path.relative_to(include).as_posix()}\n{bare(path.read_text())}\n".encode())
    return digest.hexdigest()[:16]


def number(include: Path) -> int:
    macros = (include / "torch" / "core" / "macros.h").read_text()
    return int(re.search(r"^#define TORCH_CORE_INTERFACE (\d+)$", macros, re.M)[1])


def verdict(current: int, found: str, lines: list[str]) -> str | None:
    """What is wrong, or None."""
    known = {int(n): (h, rest) for n, h, *rest in (line.split() for line in lines if line.strip())}
    if current not in known:
        return f"interface {current} is not in ci/interface.txt: python ci/interface.py record"
    if current < max(known):
        return f"TORCH_CORE_INTERFACE is {current}, but {max(known)} has been recorded: a number is never used twice"
    recorded, state = known[current]
    if recorded == found:
        return None
    if "released" in state:
        return (
            f"public headers or rows changed, but TORCH_CORE_INTERFACE is still {current}, which is released: raise it in "
            "core/include/torch/core/macros.h, then python ci/interface.py record"
        )
    return f"public headers or rows of the unreleased interface {current} changed: python ci/interface.py record"


def main() -> None:
    include = ROOT / "core" / "include"
    current, found = number(include), fingerprint(include)
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    problem = verdict(current, found, lines)
    if (
        sys.argv[1:] == ["record"]
        and problem
        and "which is released" not in problem
        and "never used twice" not in problem
    ):
        kept = [line for line in lines if line.split()[:1] != [str(current)]]
        RECORD.write_text("\n".join([*kept, f"{current} {found}"]) + "\n")
        print(f"recorded: interface {current} is {found}")
    elif problem:
        sys.exit(f"interface: {problem}")
    else:
        print(f"interface {current} is {found}, as recorded")


if __name__ == "__main__":
    main()
