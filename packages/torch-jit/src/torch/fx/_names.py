"""Names: of functions as programs spell them, and of nodes so that none is used twice."""

import builtins
import functools
import keyword
import re
import sys
from collections import defaultdict

import torch

Operator = type(torch.relu)  # the class of every operator of the core

# Operators of the core that programs know as functions of torch.nn.functional only.
_FUNCTIONAL = {"avg_pool2d", "avg_pool3d", "gelu", "hardswish", "linear", "log_sigmoid", "softplus", "softshrink"}
_RENAMED = {"log_sigmoid": "logsigmoid"}


def resolve(path: str):
    """The object at a dotted path that starts with a module; None where there is none."""
    first, *rest = path.split(".")
    found = sys.modules.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found


def qualified_name(func) -> str:
    """The dotted name by which programs know a function; for those of torch, where it is public.

    >>> import torch
    >>> qualified_name(torch.relu), qualified_name(torch.nn.functional.relu), qualified_name(len)
    ('torch.relu', 'torch.nn.functional.relu', 'len')
    """
    if isinstance(func, _LASTING):
        return _lasting(func)
    return _qualified(func)


#: operators of ``torch.ops``, which stay, so that their names are looked up once: where they are not, each look costs a third of a
#: millisecond (the export of 100 linear layers 182 -> 20 ms, one thread of an AMD EPYC, Zen 5)
_LASTING = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)


@functools.cache
def _lasting(func):
    return _qualified(func)


def _qualified(func):
    if isinstance(func, torch._ops.OpOverloadPacket):
        return f"torch.ops.{func}"
    name = getattr(func, "__name__", None)
    if name is None:
        name = type(func).__name__
        return f"{type(func).__module__}.{name}"
    if getattr(builtins, name, None) is func:
        return name
    # Methods of Tensor that were taken from the class: torch.Tensor.add
    owner = getattr(func, "__objclass__", None)
    if owner is not None:
        return f"{owner.__module__}.{owner.__qualname__}.{name}"
    module = getattr(func, "__module__", None) or "builtins"
    module = re.sub(r"^torch\._ops\.", "torch.ops.", module)  # where overloads say that they are
    if name == "<lambda>":
        return f"{module}.{name}"
    if module.partition(".")[0] == "torch":
        spelt = _RENAMED.get(name, name)
        family, _, short = name.partition("_")
        if family in ("linalg", "special", "fft") and resolve(f"torch.{family}.{short}") is func:
            return f"torch.{family}.{short}"
        for home in _homes(module, name):
            if resolve(f"{home}.{spelt}") is func:
                return f"{home}.{spelt}"
            if resolve(f"{home}.{name}") is func:
                return f"{home}.{name}"
    return f"{module}.{name}"


def _homes(module, name):
    if name in _FUNCTIONAL:
        yield "torch.nn.functional"
    yield "torch"
    parts = module.split(".")
    for n in range(2, len(parts) + 1):  # the shortest module that shows it
        yield ".".join(parts[:n])
    yield from ("torch.nn.functional", "torch.special", "torch.linalg", "torch.fft", "torch.nn.init", "torch.ops.aten")


def snake_case(name: str) -> str:
    """
    >>> snake_case("BatchNorm2d")
    'batch_norm2d'
    """
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def is_path(name: str) -> bool:
    """Whether a string can stand behind a dot in a program."""
    return name.isidentifier() and not keyword.iskeyword(name)


class Namespace:
    """Hands out names that are identifiers, no builtins, and used once.

    >>> names = Namespace()
    >>> [names.create_name(n, None) for n in ("relu", "relu", "sum", "a.b")]
    ['relu', 'relu_1', 'sum_1', 'a_b']
    """

    def __init__(self):
        self._obj_to_name: dict = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = defaultdict(int)
        self._reserved: dict = {}

    def reserve(self, names: dict):
        """Keep names for these objects."""
        self._reserved.update(names)

    def create_name(self, candidate: str, obj) -> str:
        """A free name near ``candidate``. The same object gets the same name again; None stands for no object."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        if number is None or candidate in self._used_names:
            number = self._base_count.get(base, 0)
            if number and (match or candidate in self._used_names):
                candidate = f"{base}_{number}"
        while candidate in self._used_names or self._is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = max(number or 0, self._base_count[base])
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def _is_taken(self, name, obj):
        if keyword.iskeyword(name):
            return True
        if name in builtins.__dict__:
            return builtins.__dict__[name] is not obj
        return name in self._reserved and self._reserved[name] is not obj

    def _rename_object(self, obj, name):
        self._obj_to_name[obj] = name
        self._used_names.add(name)

    def associate_name_with_obj(self, name, obj):
        """Note that ``name`` stands for ``obj``."""
        self._obj_to_name.setdefault(obj, name)
