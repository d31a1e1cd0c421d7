"""``torch.autocast`` and ``record_function`` in programs and archives.

A program has a node where a block begins and one where it ends (``prim::autocast_enter`` and ``prim::autocast_leave``, ``prim::range_enter`` and
``prim::range_leave``).  An archive has an object of PyTorch's class before the block, and ``with``.
"""

from __future__ import annotations

import re

from .errors import ScriptError
from .values import Static

__all__ = ["Context", "class_of", "enter", "head", "scope_of", "text_of"]

AUTOCAST = "__torch__.torch.amp.autocast_mode.autocast"
RANGE = "__torch__.torch.autograd.profiler.record_function"
#: PyTorch has one autocast, and one for each kind of device: torch.cuda.amp.autocast
_AUTOCASTS = re.compile(r"__torch__\.torch\.(?:(?:(\w+)\.)?amp\.)?autocast_mode\.autocast")


class ContextClass:
    """A class of contexts that an archive names; ``signature`` is that of its ``__init__`` there."""

    def __init__(self, device, signature):
        self.device, self.signature = device, signature


class Context:
    """An object of one: what ``__init__`` was called with."""

    given = None

    def __init__(self, cls):
        self.cls = cls

    def init(self, args, kwargs):
        try:
            bound = self.cls.signature.bind(None, *args, **kwargs)
        except TypeError as error:
            raise ScriptError(f"__init__ of a context of the archive: {error}") from None
        bound.apply_defaults()
        as_item = lambda each: each if not _is_plain(each) else Static(each)
        self.given = {name: as_item(each) for name, each in bound.arguments.items()}
        return Static(None)


def _is_plain(value):
    return value is None or isinstance(value, (bool, int, str))


def class_of(name, code):
    """The class of contexts that a qualified name of an archive means, or None."""
    found = _AUTOCASTS.fullmatch(name)
    if found is None and name != RANGE:
        return None
    signature = code.signature_of(name, "__init__")
    return None if signature is None else ContextClass(None if found is None else found[1] or "", signature)


def enter(emitter, context):
    """Begin the block of an archive's context; what ends it is given."""
    given = dict(context.given or {})
    if context.cls.device is None and "name" not in given:
        raise emitter.error("the archive enters a range of the profiler that has no name")
    if context.cls.device is None:
        return enter_range(emitter, given["name"], given.get("args", Static(None)))
    device = given.get("device_type", Static(context.cls.device))
    dtype, on, cache = (given.get(each, Static(None)) for each in ("dtype", "enabled", "cache_enabled"))
    return enter_autocast(emitter, device, on, dtype, cache)


def enter_range(emitter, name, args):
    handle = emitter.op("prim::range_enter", emitter.value(name), emitter.value(args))
    return lambda: emitter.op("prim::range_leave", handle)


def enter_autocast(emitter, device, on, dtype, cache):
    device = emitter.value(device)
    values = [emitter.value(each) for each in (on, dtype, cache)]
    before = emitter.op("prim::autocast_enter", device, *values)
    return lambda: emitter.op("prim::autocast_leave", device, before)


# -- in texts -------------------------------------------------------------------------------------------------------------

_SCOPES = {f"prim::{each}_{end}": end for each in ("autocast", "range") for end in ("enter", "leave")}


def scope_of(node):
    """What a node does that a ``with`` is made of: "enter", "exit", or None."""
    if node.kind() == "prim::CallMethod":
        return node.s("scope") if node.hasAttribute("scope") else None
    found = _SCOPES.get(node.kind())
    return "exit" if found == "leave" else found


def head(node, args):
    """The class of a block that a node begins, and what its ``__init__`` takes."""
    if node.kind() == "prim::range_enter":
        return RANGE, args
    device, on, dtype, cache = args
    return AUTOCAST, [device, dtype, on, cache]


def text_of(name):
    """The definition of a class of contexts, as an archive has it: PyTorch finds both by their names and attributes."""
    rest = "exc_type: Any, exc_value: Any, traceback: Any) -> NoneType:\n"
    if name == AUTOCAST:
        return (
            "class autocast:\n  device : str\n  _enabled : bool\n  fast_dtype : int\n"
            f"  def __init__(self: {name}, device_type: str, dtype: Optional[int]=None, enabled: bool=True, "
            "cache_enabled: Optional[bool]=None) -> NoneType:\n"
            "    self.device = device_type\n    self._enabled = enabled\n"
            "    if torch.__is__(dtype, None):\n      fast = torch.get_autocast_dtype(device_type)\n"
            "    else:\n      fast = unchecked_cast(int, dtype)\n    self.fast_dtype = fast\n    return None\n"
            f"  def __enter__(self: {name}) -> {name}:\n    return self\n"
            f"  def __exit__(self: {name}, {rest}    return None\n"
        )
    record = "__torch__.torch.classes.profiler._RecordFunction"
    return (
        f"class record_function:\n  name : str\n  args : Optional[str]\n  record : Optional[{record}]\n"
        f"  def __init__(self: {name}, name: str, args: Optional[str]=None) -> NoneType:\n"
        "    self.name = name\n    self.args = args\n    self.record = None\n    return None\n"
        f"  def __enter__(self: {name}) -> {name}:\n"
        "    self.record = ops.profiler._record_function_enter_new(self.name, self.args)\n    return self\n"
        f"  def __exit__(self: {name}, {rest}    record = self.record\n"
        "    if torch.__isnot__(record, None):\n"
        f"      ops.profiler._record_function_exit(unchecked_cast({record}, record))\n"
        "    else:\n      pass\n    return None\n"
    )
