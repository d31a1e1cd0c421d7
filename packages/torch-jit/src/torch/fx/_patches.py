"""What a trace replaces while it runs, and puts back when it ends or raises.

Operators of the core look at tensors only: they do not ask other arguments for ``__torch_function__``. While a trace
runs, names that lead to them (in ``torch``, ``torch.nn.functional``, ..., in modules that imported them, and on
``torch.Tensor``) lead to a stand-in that records the call when a Proxy is among the arguments and passes every other
call on. Traces of several threads share the stand-ins: the last one to end removes them, and a thread that traces
nothing never meets a Proxy. When operators ask by themselves, ``operators`` and ``methods`` below can go.

Functions of torch that are written in Python may also lie where no name leads to them: in a list, a dict, a closure.
These themselves have the code of their stand-in while a trace runs.
"""

import functools
import inspect
import sys
import threading
import types
from contextlib import contextmanager

import torch

from ._names import Operator

_lock = threading.RLock()
_dicts: dict = {}  # (id of a dict, name) -> [how many traces, the dict, what was there, the stand-in]
_types: dict = {}  # (type, name) -> [how many traces, what was there, the stand-in]
_codes: dict = {}  # function -> [how many traces, its code]
_ABSENT = object()


def contains_proxy(values) -> bool:
    """Whether a Proxy is among values, or in a tuple, list, dict or slice of them."""
    from .proxy import Proxy

    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, Proxy):
            return True
        if isinstance(value, (tuple, list)):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, slice):
            stack.extend((value.start, value.stop, value.step))
    return False


# --- stand-ins ---


def recording(func, record):
    """``func`` for values, ``record(func, args, kwargs)`` where a Proxy is among the arguments."""

    @functools.wraps(func, assigned=("__name__", "__qualname__", "__doc__", "__module__"), updated=())
    def stand_in(*args, **kwargs):
        if contains_proxy(args) or (kwargs and contains_proxy(kwargs.values())):
            return record(func, args, kwargs)
        return func(*args, **kwargs)

    stand_in._stands_for = func
    return stand_in


def _record_function(func, args, kwargs):
    from .proxy import Proxy

    home = func.__module__ if type(func) is _FUNCTION else ""
    if home.startswith("torch.nn.functional") and func.__name__ not in _AS_GIVEN:
        args, kwargs = _spelt_out(func, args, kwargs)
    return Proxy.__torch_function__(func, (), args, kwargs)


# Functions of torch.nn.functional whose arguments a graph holds as they were given: PyTorch has them in C++.
_AS_GIVEN = {
    "bilinear", "channel_shuffle", "cosine_similarity", "one_hot", "pairwise_distance", "pdist", "pixel_shuffle",
    "pixel_unshuffle", "rrelu_", "scaled_dot_product_attention",
}  # fmt: skip


def _spelt_out(func, args, kwargs):
    """What has a default goes by name, and is always there: so functions of torch.nn.functional hand their arguments on."""
    signature = inspect.signature(written().get(func, (func,))[0])
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    parameters = signature.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return args, kwargs
    names = [p.name for p in parameters]
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    return tuple(bound.arguments[n] for n in required), {n: bound.arguments[n] for n in names if n not in required}


def _method(name, func):
    def record(func, args, kwargs):
        from .proxy import Proxy

        return Proxy._record("call_method", name, args, kwargs)

    return recording(func, record)


# What asks about values and not for a result, and what must see the Proxy itself.
_NOT_RECORDED = {
    "is_tensor", "is_storage", "typename", "compile", "is_grad_enabled", "set_grad_enabled", "get_default_dtype",
    "set_default_dtype", "get_default_device", "set_default_device", "set_printoptions", "save", "load", "vmap",
}  # fmt: skip


@functools.cache
def operators() -> dict:
    """Stand-ins for the functions of torch, by the id of the function."""
    import torch.nn.functional as functional

    # Layers that are read first within a trace would keep a stand-in as their default.
    for name in dir(torch.nn.modules):
        getattr(torch.nn.modules, name)
    homes = [torch, functional, torch.special, torch.linalg, torch.fft, torch.functional, torch._C]
    found = {}
    for home in homes:
        for name in {*vars(home), *getattr(home, "__all__", ()), *(dir(home) if home is functional else ())}:
            if name.startswith("__") or name in _NOT_RECORDED:
                continue
            if name.startswith("_") and not isinstance(getattr(home, name), Operator) and name != "_assert":
                continue
            func = getattr(home, name)
            if _is_function(func):
                found.setdefault(id(func), recording(func, _record_function))
    for name in ("_assert", "einsum", "tensordot", "unique", "cdist", "_assert_async"):
        func = getattr(torch, name)
        found.setdefault(id(func), recording(func, _record_function))
    return found


# Where the functions are that record by their code as well.
_OWN_CODE = ("torch.nn.functional", "torch._operators", "torch._compat", "torch._lowrank")


@functools.cache
def written() -> dict:
    """What is recorded of torch and written in Python: function -> (its twin, which no trace touches; code that records)."""
    found = (stand_in._stands_for for stand_in in operators().values())
    mine = (
        f for f in found if type(f) is _FUNCTION and (f.__module__ == "torch" or f.__module__.startswith(_OWN_CODE))
    )
    return {func: _twin_and_code(func) for func in mine}


_hand_over = lambda *args, **kwargs: (_call := "stand-in")(*args, **kwargs)  # in one line, as tracebacks show one


def _twin_and_code(func):
    twin = _FUNCTION(func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__)
    twin.__kwdefaults__ = func.__kwdefaults__
    twin.__dict__.update(func.__dict__)
    stand_in = recording(twin, lambda _, args, kwargs: _record_function(func, args, kwargs))
    own, template = func.__code__, _hand_over.__code__
    code = template.replace(
        co_consts=tuple(stand_in if value == "stand-in" else value for value in template.co_consts),
        co_freevars=own.co_freevars,  # as many as the function's closure has
        co_name=own.co_name,
        co_filename=own.co_filename,  # inspect and errors find the function's own source
        co_firstlineno=own.co_firstlineno,
    )
    return twin, code


def _is_function(func):
    if isinstance(func, Operator):
        return True
    module = getattr(func, "__module__", None) or ""
    known = callable(func) and module.partition(".")[0] == "torch"
    return known and not isinstance(func, (type, types.ModuleType))  # torch.fft is called in programs of 2018, too


@functools.cache
def methods() -> dict:
    """Stand-ins for the methods of Tensor that take more than the tensor itself, by name."""
    found = {name: _method(name, func) for name, func in vars(torch.Tensor).items() if isinstance(func, Operator)}
    for name in ("view", "expand", "reshape", "repeat", "permute", "to", "type", "type_as", "new_zeros", "new_ones"):
        found.setdefault(name, _method(name, vars(torch.Tensor)[name]))
    for name in ("__getitem__", "__setitem__"):
        found[name] = _method(name, vars(torch.Tensor)[name])
    return found


# --- putting them in place ---


class Patches:
    """Replacements that one trace asked for; ``undo`` puts everything back that no other trace still needs.

    Ctrl-C may come after any call: what is done is noted before it is, and steps of ``undo`` may be taken twice.
    """

    def __init__(self):
        self.done: list = []  # (table, key)

    def item(self, mapping: dict, name: str, stand_in):
        """Replace ``mapping[name]``, which may be absent."""
        key = (id(mapping), name)
        with _lock:
            if self._is_first(_dicts, key, lambda: [1, mapping, mapping.get(name, _ABSENT), stand_in]):
                mapping[name] = stand_in

    def watch(self, mapping: dict, name: str, kind: type):
        """Replace the dict at ``mapping[name]`` by one of another class, and its contents by that one's in the end."""
        inner = mapping[name]
        self.item(mapping, name, inner if isinstance(inner, kind) else kind(inner))

    def attribute(self, kind: type, name: str, stand_in):
        """Replace an attribute of a class, which may be absent."""
        with _lock:
            if self._is_first(_types, (kind, name), lambda: [1, vars(kind).get(name, _ABSENT), stand_in]):
                setattr(kind, name, stand_in)

    def code(self, func, code):
        """Replace the code of a function, wherever it lies."""
        with _lock:
            if self._is_first(_codes, func, lambda: [1, func.__code__]):
                func.__code__ = code

    def _is_first(self, table, key, before):
        """Note a replacement, and whether no trace has made it yet."""
        first = key not in table
        if first:
            table[key] = before()
        else:
            table[key][0] += 1
        self.done.append((table, key))
        return first

    def undo(self):
        while self.done:
            with _lock:
                table, key = self.done[-1]
                entry = table[key]
                if entry[0] > 1:
                    entry[0] -= 1
                else:
                    _PUT_BACK[id(table)](key, entry)
                    del table[key]
                del self.done[-1]

    def names_of(self, table: dict):
        """Replace every global of a loaded module that leads to a function in ``table`` (id -> stand-in)."""
        for module in list(sys.modules.values()):
            space = getattr(module, "__dict__", None)
            if type(space) is not dict or _is_plumbing(module):
                continue
            for name, value in list(space.items()):
                stand_in = table.get(id(value))
                if stand_in is None:
                    original = getattr(value, "_stands_for", None) if type(value) is _FUNCTION else None
                    stand_in = table.get(id(original)) if original is not None else None
                if stand_in is not None and name[:2] != "__":
                    self.item(space, name, stand_in)


_FUNCTION = type(contains_proxy)
_PLUMBING = ("torch.fx", "torch._C", "torch.overrides", "torch._parts", "torch._names")


def _is_plumbing(module):
    name = getattr(module, "__name__", "") or ""
    if name.startswith(_PLUMBING):
        return True
    first = name.partition(".")[0]
    return first in sys.stdlib_module_names and first != "__main__"


def _put_back_item(key, entry):
    _, mapping, before, stand_in = entry
    if mapping.get(key[1]) is not stand_in:  # the program assigned to the name meanwhile
        return
    if before is _ABSENT:
        del mapping[key[1]]
        return
    if isinstance(before, dict) and isinstance(stand_in, dict) and before != stand_in:
        before.clear()
        before.update(stand_in)
    mapping[key[1]] = before


def _put_back_attribute(key, entry):
    kind, name = key
    _, before, stand_in = entry
    if vars(kind).get(name) is not stand_in:
        return
    if before is _ABSENT:
        delattr(kind, name)
    else:
        setattr(kind, name, before)


def _put_back_code(func, entry):
    func.__code__ = entry[1]


_PUT_BACK = {id(_dicts): _put_back_item, id(_types): _put_back_attribute, id(_codes): _put_back_code}


@contextmanager
def patched(extra_functions: dict):
    """Everything of torch in its recording form; ``extra_functions`` (id -> stand-in) joins in."""
    patches = Patches()
    with _lock:
        written()  # before any code is replaced
    try:
        patches.names_of({**operators(), **extra_functions})
        for name, stand_in in methods().items():
            patches.attribute(torch.Tensor, name, stand_in)
        for func, (_, code) in written().items():
            patches.code(func, code)
        yield patches
    finally:
        late, tries = None, 0
        while patches.done and tries < 8:  # Ctrl-C is raised when all is back
            try:
                patches.undo()
            except BaseException as error:
                late, tries = error, tries + 1
        if late is not None:
            raise late
