"""Holds the public interface of torch-core against its two numbers.

    python ci/interface.py           # fails when headers or operators changed under an unchanged record
    python ci/interface.py record    # after raising a number, or before its first release

The interface is what a compiled part sees: core/include/**/*.h but for what only sources of extensions include
(`SPELT`), and of each operator its name and schema. When it changes, every part has to be built anew (TORCH_CORE_INTERFACE). An operator that is added changes nothing for parts that
do not know it: then only TORCH_CORE_FEATURES rises. Comments, layout, attributes and documentation do not count.

ci/interface.txt holds a line for each number: `interface`, the number, the hash; `features` and the number; and
`released` once a wheel with it is out, from when on it stands. ci/operators.txt names the operators and hashes their
schemas.
"""

import hashlib
import re
import sys
from pathlib import Path

from packages import ROOT

RECORD = ROOT / "ci" / "interface.txt"
OPERATORS = ROOT / "ci" / "operators.txt"
STRING = r'"(?:[^"\\\n]|\\.)*"'
#: lists of torch/core/ops that have no rows: the words that stand for several rows, and the list of families
NO_ROWS = {"shorthand.def", "all.def"}
#: headers that spell the interface as PyTorch's users know it: inline code over the others, which no part of ours includes
SPELT = {
    "extension.h",
    "aten.h",
    "autograd.h",
    "halves.h",
    "indexing.h",
    "library.h",
    "script.h",
    "torch.h",
    "types.h",
    "all.h",
    "custom_class.h",
}
NUMBERS = {"interface": ("macros.h", "TORCH_CORE_INTERFACE"), "features": ("features.h", "TORCH_CORE_FEATURES")}


def bare(text: str) -> str:
    """The text without comments, documentation of rows and layout.

    >>> bare('TORCH_OP(add, "add(Tensor a)", Attr(), "Adds.") // why')
    'TORCH_OP(add,"add(Tensor a)",Attr())'
    """
    keep_strings = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.S)
    text = keep_strings.sub(lambda m: m[1] or " ", text)
    text = re.sub(rf"(TORCH_[A-Z_]+\((?:[^()\"]|{STRING}|\([^()]*\))*?),\s*(?:{STRING}\s*)+\)", r"\1)", text)
    parts = re.split(rf"({STRING})", text)
    squeezed = [p if p.startswith('"') else re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(p.split())) for p in parts]
    return "".join(squeezed).strip()


def rows(text: str) -> dict[str, str]:
    """The operators of a family: what each is called and how.

    >>> rows('TORCH_OP(add, "add(Tensor a, " "Tensor b)", Attr().method(), "Adds.")\\nTORCH_UNARY(abs, Attr(), "Sizes.")')
    {'add': 'TORCH_OP "add(Tensor a, Tensor b)"', 'abs': 'TORCH_UNARY '}
    """
    found = {}
    for word, arguments in re.findall(
        r"^(TORCH_\w+)\(((?:[^()\"]|" + STRING + r"|\([^()]*\))*)\)", _uncommented(text), re.M
    ):
        name, _, rest = arguments.partition(",")
        schema = re.match(rf"\s*((?:{STRING}\s*)+)", rest)
        joined = (
            '"' + "".join(s[1:-1] for s in re.findall(STRING, schema[1])) + '"' if word == "TORCH_OP" and schema else ""
        )
        key = name.strip() if name.strip() not in found else f"{word}:{arguments}"
        found[key] = f"{word} {joined}"
    return found


def _uncommented(text: str) -> str:
    return re.sub(rf"({STRING})|//[^\n]*", lambda m: m[1] or " ", text)


def _digest(text: str, length: int = 16) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def is_family(path: Path) -> bool:
    """Whether a file lists operators, or other names of them."""
    return path.suffix == ".def" and path.parent.name == "ops" and path.name not in NO_ROWS


def is_spelt(path: Path) -> bool:
    """
    >>> [is_spelt(Path(p)) for p in ("torch/extension.h", "ATen/ATen.h", "torch/core/library.h", "torch/core/tensor.h")]
    [True, True, False, False]
    """
    if path.stem in ("methods", "overloads") and path.parent == Path(
        "torch/core"
    ):  # only names for those (TORCH_METHODS)
        return True
    return (
        path.parts[0] in ("ATen", "c10")
        or (path.parent == Path("torch") and path.name in SPELT)
        or "csrc" in path.parts
    )


def fingerprint(include: Path) -> str:
    """The hash of all that is no operator, nor a list of families."""
    families = {p.with_suffix(".h") for p in include.rglob("*.def") if is_family(p)}
    lists = {"all.def", "ops.h", "features.h"}
    paths = sorted(p for p in include.rglob("*") if p.suffix in (".h", ".def") and not is_family(p))
    text = [
        f"{p.relative_to(include).as_posix()}\n{bare(p.read_text())}\n"
        for p in paths
        if p not in families and p.name not in lists and not is_spelt(p.relative_to(include))
    ]
    return _digest("".join(text))


def operators(include: Path) -> dict[str, str]:
    """{family/operator: hash of how it is called}."""
    return {
        f"{p.stem}/{name}": _digest(what, 8)
        for p in sorted(include.rglob("*.def"))
        if is_family(p)
        for name, what in rows(p.read_text()).items()
    }


def number(include: Path, kind: str) -> int:
    header, macro = NUMBERS[kind]
    return int(re.search(rf"^#define {macro} (\d+)$", (include / "torch" / "core" / header).read_text(), re.M)[1])


def recorded(lines: list[str], kind: str) -> dict[int, list[str]]:
    """{number: what the record says of it}."""
    split = [line.split() for line in lines if line.strip()]
    return {int(n): rest for k, n, *rest in split if k == kind}


def changes(found: dict[str, str], known: dict[str, str]) -> tuple[list[str], list[str]]:
    """The operators that are added, and those that are gone or called in another way."""
    return sorted(found.keys() - known.keys()), sorted(n for n, h in known.items() if found.get(n) != h)


def verdict(current: dict[str, int], found: str, added: list[str], changed: list[str], lines: list[str]) -> str | None:
    """What is wrong, or None."""
    for kind, n in current.items():
        known = recorded(lines, kind)
        if n not in known:
            return f"{kind} {n} is not in ci/interface.txt: python ci/interface.py record"
        if n < max(known):
            return f"{NUMBERS[kind][1]} is {n}, but {max(known)} has been recorded: a number is never used twice"
    known = recorded(lines, "interface")[current["interface"]]
    if known[0] != found or changed:
        if "released" not in known:
            return f"the unreleased interface {current['interface']} changed: python ci/interface.py record"
        what = f"operators changed ({', '.join(changed[:5])})" if changed else "public headers changed"
        return (
            f"{what}, but TORCH_CORE_INTERFACE is still {current['interface']}, which is released: raise it in "
            "core/include/torch/core/macros.h, then python ci/interface.py record"
        )
    if added:
        if "released" not in recorded(lines, "features")[current["features"]]:
            return (
                f"operators were added to the unreleased features {current['features']}: python ci/interface.py record"
            )
        return (
            f"operators were added ({', '.join(added[:5])}), but TORCH_CORE_FEATURES is still {current['features']}, which is "
            "released: raise it in core/include/torch/core/features.h, then python ci/interface.py record; parts that are "
            "built go on as they are"
        )
    return None


def main() -> None:
    include = ROOT / "core" / "include"
    current, found, ours = {k: number(include, k) for k in NUMBERS}, fingerprint(include), operators(include)
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    known = dict(line.rsplit(" ", 1) for line in OPERATORS.read_text().splitlines()) if OPERATORS.exists() else {}
    problem = verdict(current, found, *changes(ours, known), lines)
    final = problem and any(words in problem for words in ("which is released", "never used twice"))
    if sys.argv[1:] == ["record"] and problem and not final:
        new = [f"interface {current['interface']} {found}", f"features {current['features']}"]
        heads = [" ".join(line.split()[:2]) for line in new]
        kept = [line for line in lines if " ".join(line.split()[:2]) not in heads or "released" in line]
        fresh = [line for line, head in zip(new, heads, strict=True) if all(not k.startswith(f"{head} ") for k in kept)]
        RECORD.write_text("\n".join(sorted({*kept, *fresh}, reverse=True)) + "\n")
        OPERATORS.write_text("".join(f"{name} {code}\n" for name, code in sorted(ours.items())))
        print(f"recorded: interface {current['interface']} is {found}, features {current['features']}")
    elif problem:
        sys.exit(f"interface: {problem}")
    else:
        print(f"interface {current['interface']} is {found}, features {current['features']}, as recorded")


if __name__ == "__main__":
    main()
