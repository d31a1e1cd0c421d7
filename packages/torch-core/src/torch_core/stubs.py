"""Writes torch/__init__.pyi from the operators' rows: the schema is the only place where a signature is typed.

    python -m torch_core.stubs torch/__init__.pyi

writes the stubs of torch.fft, torch.linalg and torch.special, whose operators are rows too, into the same folder, and below
backends/ those of the modules of settings, which are no files. What is not a row (constructors, settings, methods written in Python) is taken from the living module with its annotations; the few
names whose types users lean on and which have none are written out in _stub_text.py.
"""

import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from torch_core._stub_text import CLASSES, HEADER, MODULE, TENSOR

# Written with Python's own names; inside the stub `torch.float` and friends hide them.
KINDS = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Number": "Tensor | Number",
    "Scalar": "Number",
    "int": "builtins.int",
    "bool": "builtins.bool",
    "float": "builtins.float",
    "str": "builtins.str",
    "dtype": "_dtype",
    "device": "_device",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "Generator": "Generator",
    "generator": "Generator",
    "any": "Any",
}
EXTRA = {
    "out": "Any",
    "layout": "_layout | None",
    "requires_grad": "builtins.bool",
    "pin_memory": "builtins.bool",
}
RESULTS = {"Tensor": "Tensor", "Tensor[]": "builtins.tuple[Tensor, ...]", "Scalar": "Number", "()": "None"}

CASTS = [
    "chalf",
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "char",
    "byte",
    "bool",
    "cfloat",
    "cdouble",
]
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
ORDERED = ["lt", "le", "gt", "ge"]

# Operators that take their tensors one by one as well: meshgrid(x, y).
SPREAD = {"meshgrid", "broadcast_tensors", "block_diag", "cartesian_prod", "align_tensors"} | {
    f"atleast_{n}d" for n in (1, 2, 3)
}
# Functions that Python makes in a loop, by the module that does; and those of them that give several tensors.
MADE = {"torch._operators.copies", "torch._operators.sparse", "torch._operators.predicates", "torch._operators.foreach"}
SEVERAL = re.compile(r"_foreach_.*[^_]|(unsafe_)?(split|split_with_sizes|unbind|chunk)(_copy)?")
MODULES = ["fft", "linalg", "special"]

WRITTEN = {a or b for a, b in re.findall(r"def (\w+)|^    (\w+):", TENSOR, re.M)} | set(CASTS)
FUNCTIONS = set(re.findall(r"^(?:def|class) (\w+)", MODULE, re.M))
KNOWN = {"builtins", "Any", "Callable", "Iterable", "Iterator", "Literal", "Mapping", "None", "Sequence"} | {
    "Generator", "ModuleType", "Size", "Tensor", "UntypedStorage",
}  # fmt: skip
KEYWORDS = {"from", "lambda", "in", "is", "not", "and", "or", "if", "else"}


def split(text: str) -> list[str]:
    """Cut at the commas that are outside brackets and quotes.

    >>> split("Tensor self, int[2] dims=[0, 1], str mode='a,b'")
    ['Tensor self', 'int[2] dims=[0, 1]', "str mode='a,b'"]
    """
    return [part.strip() for part in re.findall(r"(?:\[[^\]]*\]|\([^)]*\)|'[^']*'|[^,])+", text) if part.strip()]


def kind(text: str) -> str:
    """A kind of the schema as Python's type.

    >>> kind("Tensor?"), kind("Tensor(a!)"), kind("int[2]"), kind("int[]")
    ('Tensor | None', 'Tensor', 'builtins.int | Sequence[builtins.int]', 'Sequence[builtins.int]')
    >>> kind("int[]?")
    'builtins.int | Sequence[builtins.int] | None'
    """
    text = re.sub(r"\([a-z]!?\)", "", text)
    if text.endswith("?"):
        sure = kind(text[:-1])
        if sure == "Sequence[builtins.int]":  # dims: one may stand for a list of one
            sure = f"builtins.int | {sure}"
        return f"{sure} | None"
    if listed := re.fullmatch(r"(\w+)\[(\d*)\]", text):
        if listed[1] == "Tensor":
            return "Sequence[Tensor]"
        many = f"Sequence[{KINDS[listed[1]]}]"
        return f"{KINDS[listed[1]]} | {many}" if listed[2] else many
    return KINDS[text]


def result(schema: str, named: dict[str, str]) -> str:
    """The type that a row returns; results with names become a class of their own."""
    text = re.sub(r"\([a-z]!?\)", "", schema.split(" -> ")[1].strip())
    if not text.startswith("("):
        return RESULTS.get(text) or kind(text)
    fields = [part.split() for part in split(text[1:-1])]
    if not fields:
        return "None"
    if any(len(f) < 2 for f in fields):
        return f"builtins.tuple[{', '.join(kind(f[0]) for f in fields)}]"
    name = "_" + "_".join(f[1] for f in fields)
    named[name] = f"class {name}(NamedTuple):\n" + "".join(f"    {f[1]}: {kind(f[0])}\n" for f in fields)
    return name


def signatures(schema: str, spoken: str, method: bool) -> list[str]:
    """Parameter lists of a row: names and order as the parser takes them, types from the schema.

    >>> signatures("f(Tensor self, int[] size, *, bool keep=False) -> Tensor", "(input, size, *, keep=False)", True)
    ['self, size: Sequence[builtins.int], *, keep: builtins.bool = False', 'self, *size: builtins.int, keep: builtins.bool = False']
    """
    kinds = [
        part.split("=")[0].split()[0]
        for part in split(schema[schema.index("(") + 1 : schema.index(") -> ")])
        if part != "*"
    ]
    names = split(spoken[1:-1])
    typed, at = [], 0
    taken = False
    for name in names:
        if name == "*":
            typed.append("*")
            continue
        plain, _, default = name.partition("=")
        if plain in KEYWORDS:
            plain = "_" + plain
        extra = at >= len(kinds)
        if (
            not extra
            and method
            and not taken
            and re.fullmatch(r"(Tensor(\(\w!?\))?|Number)", kinds[at])
            and plain in ("input", "self")
        ):
            typed.append("self")
            taken = True
        elif extra:
            typed.append(f"{plain}: {EXTRA.get(plain, 'Any')} = {default}")
        else:
            text = kind(kinds[at])
            if default == "None" and "None" not in text:
                text += " | None"
            if default == "[]" and text == "Sequence[builtins.int]":  # dims, all of them unless told
                text = f"builtins.int | {text}"
            default = re.sub(r"^\[.*\]$|^float\(.*\)$", "...", default)
            typed.append(f"{plain}: {text}" + (f" = {default}" if default else ""))
        at += 1
    if text_of_first := re.fullmatch(r"(\w+): Sequence\[Tensor\]", typed[0] if typed else ""):
        if schema.partition("(")[0] in SPREAD:
            typed[0] = f"*{text_of_first[1]}: Tensor | Sequence[Tensor]"
            typed = [t for t in typed if t != "*"]
            return [", ".join(typed)]
    found = [", ".join(typed)]
    first = typed[1] if method and taken and len(typed) > 1 else typed[0] if typed else ""
    if first.endswith(": Sequence[builtins.int]"):  # view(2, 3) as well as view((2, 3))
        spread = [t if t != first else f"*{first.split(':')[0]}: builtins.int" for t in typed if t != "*"]
        found.append(", ".join(spread))
    return found


def functions(name: str, operator, method: bool, named: dict[str, str], indent: str = "") -> list[str]:
    """The lines that declare one operator, an overload for each way to call it."""
    own = operator.__name__  # of an alias, the name of the operator behind it
    spoken = [line[len(own) :] for line in operator._text.splitlines() if line.startswith(own + "(")]
    declared = []
    for schema, text in zip(operator.schemas, spoken):
        returned = result(schema, named)
        if method and name.endswith("_") and not name.endswith("__"):
            returned = "Self"
        for signature in signatures(schema, text, method):
            if method and not signature.startswith("self"):
                continue
            declared.append(f"{indent}def {name}({signature}) -> {returned}: ...")
    declared = list(dict.fromkeys(declared))
    return [line for d in declared for line in ([f"{indent}@overload", d] if len(declared) > 1 else [d])]


def by_hand(name: str, value, method: bool, indent: str = "") -> str:
    """The declaration of something that is not a row, as far as Python can tell."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        parameters = None
    if parameters is None or (method and (not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY)):
        start = "self, " if method else ""
        return f"{indent}def {name}({start}*args: Any, **kwargs: Any) -> Any: ..."
    typed, star = [], False
    for i, p in enumerate(parameters):
        if method and i == 0:
            typed.append("self")
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            typed.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        lead = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty or lead else " = ..."
        typed.append(f"{lead}{p.name}: {spelled(p.annotation)}{default}")
    returned = spelled(getattr(value, "__annotations__", {}).get("return"))
    if returned == "Any" and getattr(value, "__module__", "") in MADE:
        changed = (
            "builtins.list[Tensor]" if name.startswith("_foreach_") else "Tensor"
        )  # _foreach_add_: the list it got
        returned = "builtins.tuple[Tensor, ...]" if SEVERAL.fullmatch(name) else changed
    return f"{indent}def {name}({', '.join(typed)}) -> {returned}: ..."


def spelled(annotation) -> str:
    """An annotation as it is written inside the stub, where ``torch.int`` hides ``int``; Any for what has none.

    >>> spelled("int | Sequence[int] | None"), spelled("torch.dtype | None"), spelled("Mystery")
    ('builtins.int | Sequence[builtins.int] | None', '_dtype | None', 'Any')
    """
    if not isinstance(annotation, str):
        return "Any"
    text = annotation.replace("torch.device | str | int", "_device")
    text = re.sub(r"\btorch\.device\b", "_device_class", text)
    text = re.sub(r"\btorch\.(dtype|layout|memory_format)\b", r"_\1", text).replace("torch.", "")
    text = re.sub(
        r"(?<![\w.'\"])(int|float|bool|str|complex|list|tuple|dict|type|object|bytes)\b", r"builtins.\1", text
    )
    names = set(re.findall(r"(?<![\w.])[A-Za-z]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)))
    return "Any" if names - KNOWN else text


def written_in_python(cls: type) -> bool:
    """Whether a type checker finds the class where it says it is from."""
    home = sys.modules.get(cls.__module__)
    found = cls.__module__.startswith("torch.") and getattr(home, cls.__name__, None) is cls
    return found and (getattr(home, "__file__", None) or "").endswith(".py") and "<locals>" not in cls.__qualname__


def tensor_lines(torch, named: dict[str, str]) -> list[str]:
    lines = ["class Tensor:", TENSOR.rstrip("\n")]
    for name in BINARY:
        sides = {"": "Tensor", "r": "Tensor", "i": "Self"}
        lines += [f"    def __{side}{name}__(self, other: Any) -> {what}: ..." for side, what in sides.items()]
    lines += [f"    def __{name}__(self, other: Any) -> Tensor: ..." for name in ORDERED]
    lines += [f"    def {name}(self) -> Tensor: ..." for name in CASTS]
    for name in sorted(vars(torch.Tensor)):
        if name.startswith("_") or name in WRITTEN:
            continue
        value = inspect.getattr_static(torch.Tensor, name)
        if hasattr(value, "schemas"):
            lines += functions(name, value, True, named, "    ")
        elif isinstance(value, property) or inspect.isgetsetdescriptor(value) or not callable(value):
            lines.append(f"    {name}: Any")
        else:
            lines.append(by_hand(name, value, True, "    "))
    return lines


def stub(torch) -> str:
    """The whole text, for an imported torch."""
    from torch import _names, _parts
    from torch._operators import foreach

    named: dict[str, str] = {}
    tensor = tensor_lines(torch, named)
    lines = [MODULE]
    names = [n for n in [*vars(torch), *_names.LAZY] if not n.startswith("_") and n not in FUNCTIONS]
    held = list(vars(torch).items())  # a module that loads what it is asked for may add names here
    names += [n for n, v in held if n.startswith("_") and not inspect.ismodule(v) and hasattr(v, "schemas")]
    names += foreach.__all__
    done = {
        "Tensor",
        "dtype",
        "layout",
        "memory_format",
        "device",
        "Size",
        "Generator",
        "UntypedStorage",
        *_parts.PARTS,
        *_parts.FACES,
        *MODULES,
    }
    modules = [f"from . import {m} as {m}" for m in _names.MODULES if find_spec(f"torch.{m}")]
    for name in sorted(set(names) - done):
        if _names.LAZY.get(name) == "_C":  # of programs, which another distribution has
            lines.append(f"{name}: Any")
            continue
        try:
            value = getattr(torch, name)
        except ImportError:  # made of a class of another distribution, which does not have to be there
            lines.append(f"{name}: Any")
            continue
        if inspect.ismodule(value):
            continue
        if hasattr(value, "schemas"):
            lines += functions(name, value, False, named)
        elif isinstance(value, type) and written_in_python(value):
            lines.append(f"from {value.__module__.removeprefix('torch')} import {value.__name__} as {name}")
        elif isinstance(value, type):
            bases = (
                "RuntimeError"
                if issubclass(value, RuntimeError)
                else "Tensor"
                if issubclass(value, torch.Tensor)
                else ""
            )
            lines.append(f"class {name}({bases}):" if bases else f"class {name}:")
            if not bases:
                lines.append("    def __init__(self, *args: Any, **kwargs: Any) -> None: ...")
                lines.append("    def __getattr__(self, name: builtins.str) -> Any: ...")
            lines.append("    ...\n")
        elif callable(value):
            lines.append(by_hand(name, value, False))
        else:
            owner = type(value).__name__
            known = (
                owner
                if owner in done
                else f"builtins.{owner}"
                if type(value).__module__ == "builtins" and value is not None
                else "Any"
            )
            lines.append(f"{name}: {known}")
    lines += [f"{t}Tensor: Any" for t in _names.TYPED if f"{t}Tensor" not in names]
    casts = "\n".join(f"    def {n}(self) -> _storage.TypedStorage: ..." for n in ("float", "int"))
    lines += [f"class {t}Storage(_storage.TypedStorage):\n{casts}" for t in _names.TYPED]
    parts = [f"from . import {part} as {part}" for part in {**_parts.PARTS, **_parts.FACES}]
    held = {
        name: f"{part}.functional"
        if name in _names.FUNCTIONAL
        else f"{part}.functional._coded"
        if name in _names.CODED
        else part
        for name, part in _names.ATTRIBUTES.items()
    }
    parts += [f"from .{module} import {name} as {name}" for name, module in held.items()]
    parts += [f"from . import {name} as {name}" for name in _parts.ALIASES if name[0] != "_" and "." not in name]
    version = "__version__: builtins.str\n__all__: builtins.list[builtins.str]\n"
    imports = "\n".join(sorted([*parts, *modules, "from . import storage as _storage"]))
    body = "\n".join([CLASSES, *sorted(named.values()), *tensor, "", *lines])
    return f"{HEADER}\n{imports}\n\n{version}\n{body}\n"


def of_module(module) -> str:
    """The stub of a module whose functions are rows."""
    named: dict[str, str] = {}
    lines = []
    for name, value in sorted(vars(module).items()):
        if hasattr(value, "schemas"):
            lines += functions(name, value, False, named)
        elif isinstance(value, type) and issubclass(value, Exception):
            lines.append(f"class {name}(RuntimeError): ...")
    if module.__name__ == "torch.fft":  # also the function of 2018
        lines.append(
            "def __call__(input: Tensor, signal_ndim: builtins.int, normalized: builtins.bool = False) -> Tensor: ..."
        )
    head = HEADER.partition("\nNumber")[0] + "\nfrom . import Generator, Number, Tensor\n"
    head += "from . import _device as _device, _dtype as _dtype, _layout as _layout, _memory_format as _memory_format\n"
    return head + "\n" + "\n".join([*sorted(named.values()), *lines]) + "\n"


def of_settings(module) -> str:
    """The stub of a module of settings, such as ``torch.backends.cudnn``."""
    lines = ["import builtins", "from typing import Any", ""]
    for name, value in sorted(vars(module).items()):
        owner = type(value)
        if name.startswith("__") or inspect.isclass(value):
            continue
        if callable(value):
            lines.append(by_hand(name, value, False))
        else:
            lines.append(f"{name}: " + (f"builtins.{owner.__name__}" if owner in (bool, int, str) else "Any"))
    lines += [
        f"class {name}:\n    def __init__(self, *args: Any, **kwargs: Any) -> None: ..." for name in classes_of(module)
    ]
    return "\n".join(lines) + "\n"


def classes_of(module) -> list[str]:
    return sorted(n for n, v in vars(module).items() if inspect.isclass(v) and not n.startswith("__"))


def settings(torch) -> dict[str, str]:
    """The stubs of the modules of settings in torch.backends, by name of file."""
    held = {n: v for n, v in sorted(vars(torch.backends).items()) if inspect.ismodule(v) and not v.__spec__}
    return {f"{name}.pyi": of_settings(module) for name, module in held.items()}


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import torch

    out = Path(sys.argv[1])
    out.write_text(stub(torch))
    for name in MODULES:
        out.with_name(f"{name}.pyi").write_text(of_module(getattr(torch, name)))
    out.with_name("backends").mkdir(exist_ok=True)
    for name, text in settings(torch).items():
        out.with_name("backends").joinpath(name).write_text(text)


if __name__ == "__main__":
    main()
