"""What fuzz.py calls: every row, the callables of torch's modules and types, attributes, indices, operators of Python,
storages. A target takes a Maker of hostile.py and gives (function, args, kwargs).
"""

import contextlib
import operator
import re

import torch
from hostile import DTYPES, Maker, RaisingIndex
from torch import _C

#: What a wrong argument may raise.
EXPECTED = (TypeError, ValueError, RuntimeError, IndexError, OverflowError, MemoryError, ZeroDivisionError)
EXPECTED += (AttributeError, BufferError, KeyError, ImportError, StopIteration, RecursionError, EOFError, OSError)


def parameters(schema):
    """(kind, name, keyword_only, has_default) of each parameter."""
    head = schema.partition("(")[2].rpartition(") -> ")[0]
    found, keyword = [], False
    for text in re.split(r",\s*(?![^\[]*\])", head):
        if text.strip() == "*":
            keyword = True
        elif text:
            kind, _, name = text.strip().partition(" ")
            found.append((re.sub(r"\([a-z]!?\)", "", kind), name.partition("=")[0], keyword, "=" in name))
    return found


def arguments_of_row(make, schema):
    r = make.r
    args, kwargs = [], {}
    for kind, name, keyword, optional in parameters(schema):
        if optional and r.random() < 0.5:
            keyword = True
            continue
        value = make.of_kind(kind)
        if keyword or kwargs or r.random() < 0.1:
            kwargs["input" if name == "self" else name] = value
        else:
            args.append(value)
    x = r.random()
    if x < 0.03 and args:
        args.pop()
    elif x < 0.06:
        args.append(make.anything())
    elif x < 0.08:
        kwargs[r.choice(["dim", "out", "keepdim", "dtype", "self", "x", "\ud800"])] = make.anything()
    if r.random() < 0.15:
        outs = list(make.tensors) or [make.tensor()]
        kwargs["out"] = r.choice([*outs, make.tensor(), make.anything(), tuple(outs), (make.tensor(), make.tensor())])
    return args, kwargs


def row_target(name, schema):
    def run(make):
        args, kwargs = arguments_of_row(make, schema)
        if args and isinstance(args[0], torch.Tensor) and make.r.random() < 0.3 and hasattr(torch.Tensor, name):
            return lambda self, *rest, **named: getattr(self, name)(*rest, **named), args, kwargs
        return _C._operator(name), args, kwargs

    return run


def free_target(function, first=None):
    """A callable of unknown signature; `first` makes the instance for a method."""

    def run(make):
        r = make.r
        args = [make.anything() for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4]))]
        kwargs = (
            {r.choice(["dim", "dtype", "device", "out", "size", "requires_grad", "copy"]): make.anything()}
            if r.random() < 0.2
            else {}
        )
        return function, [first(make), *args] if first else args, kwargs

    return run


def attribute_target(name):
    def run(make):
        value = [make.anything()] if make.r.random() < 0.5 else []
        if value:
            return setattr, [make.tensor(), name, *value], {}
        return getattr, [make.tensor(), name], {}

    return run


def index_target(make):
    r = make.r

    def key():
        x = r.random()
        if x < 0.25:
            return slice(*(r.choice([None, make.integer(), make.anything()]) for _ in range(3)))
        if x < 0.4:
            return r.choice([None, ..., True, False, make.integer()])
        if x < 0.55:
            return make.integer()
        return make.tensor() if x < 0.75 else make.anything()

    k = key() if r.random() < 0.5 else tuple(key() for _ in range(r.randrange(5)))
    t = make.tensor()
    if r.random() < 0.5:
        return operator.setitem, [t, k, make.tensor() if r.random() < 0.5 else make.anything()], {}
    return r.choice([operator.getitem] * 9 + [operator.delitem]), [t, k], {}


def operator_target(make):
    names = [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and_",
        "or_",
        "xor",
        "lshift",
        "rshift",
        "matmul",
    ]
    names += [
        "eq",
        "lt",
        "contains",
        "iadd",
        "imul",
        "ipow",
        "imatmul",
        "iand",
        "neg",
        "invert",
        "index",
        "concat",
        "truth",
    ]
    names += ["abs", "pos", "length_hint"]
    f = getattr(operator, make.r.choice(names))
    args = [make.tensor(), make.anything()]
    if make.r.random() < 0.3:
        args.reverse()
    return f, args if f.__text_signature__ and "b" in f.__text_signature__ else args[:1], {}


def conversion_target(make):
    r = make.r
    f = r.choice(
        [
            int,
            float,
            complex,
            bool,
            len,
            repr,
            str,
            list,
            iter,
            hash,
            memoryview,
            bytes,
            bytearray,
            reversed,
            dir,
            format,
        ]
    )
    return f, [make.tensor()], {}


def storage_target(make):
    """Tensors laid over a storage."""
    r = make.r
    storage = make.tensor().untyped_storage()
    if r.random() < 0.3:
        return storage._adopt, [make.anything(), *(r.choice([True, False]) for _ in range(r.randrange(3)))], {}
    n = r.randrange(4)
    size, stride = (tuple(make.integer() for _ in range(n)) for _ in range(2))
    return (
        r.choice([_C._tensor_over, _C._rebuild_tensor]),
        [
            storage,
            r.choice(DTYPES),
            make.integer(),
            size,
            stride,
            *([r.choice([False, True, RaisingIndex()])] if r.random() < 0.5 else []),
        ],
        {},
    )


def resize_target(make):
    """Memory that is changed under the feet of those who hold a piece of it."""
    t = make.tensor()
    held = []
    for how in ("numpy", "memoryview", "view", "dlpack"):
        if make.r.random() < 0.5:
            with contextlib.suppress(Exception):
                held.append(
                    {
                        "numpy": t.numpy,
                        "memoryview": lambda: memoryview(t),
                        "view": lambda: t.view(-1),
                        "dlpack": lambda: torch.from_dlpack(t),
                    }[how]()
                )

    def change(*sizes):
        with contextlib.suppress(*EXPECTED):
            t.resize_(*sizes)
        with contextlib.suppress(*EXPECTED):
            t.untyped_storage()._adopt(bytearray(max(t.nbytes, 64)))
        with contextlib.suppress(*EXPECTED):
            t.data = make.tensor()
        return [h.tolist() if hasattr(h, "tolist") else h for h in held]

    return change, [make.integers()], {}


#: Would end, block or reconfigure the process, write files, or hand out what the caller swears to use well.
SKIPPED = re.compile(
    r"set_(num|default|printoptions|rng_state|deterministic|warn|float32)\w*|use_deterministic_algorithms|manual_seed|"
    r"save|load|hub|compile|fork|breakpoint|annotations|from_file|share_memory_?|_api|_from_handle|_set_\w+|"
    r"_import_dotted_name|__(class|dict|init_subclass|subclasshook|getattribute|new|reduce|reduce_ex|doc|module|del|"
    r"sizeof|weakref)__"
).fullmatch


INSTANCES = {
    _C.UntypedStorage: lambda make: torch.UntypedStorage(100),
    _C.Generator: lambda make: torch.Generator(),
    _C.Size: lambda make: torch.Size([2, 2**40]),
    _C.dtype: lambda make: torch.float32,
    _C.device: lambda make: torch.device("cpu"),
}


def public(owner):
    """The callables of a module or a type, by name. A name may be that of a part that is not installed."""
    for name in sorted(dir(owner)):
        if SKIPPED(name):
            continue
        with contextlib.suppress(AttributeError, ImportError):
            value = getattr(owner, name)
            if callable(value) and not (isinstance(value, type) and issubclass(value, BaseException)):
                yield name, value


def targets():
    found = {}
    schemas = [info["schema"] for info in _C._rows()]
    rows = {schema.partition("(")[0] for schema in schemas}
    for schema in schemas:
        found[f"row:{schema}"] = row_target(schema.partition("(")[0], schema)
    for owner in (torch, _C, torch.special, torch.linalg):
        for name, value in public(owner):
            if name not in rows and not (owner is torch and name.startswith("_")):
                found[f"{owner.__name__}.{name}"] = free_target(value)
    for name in sorted(set(dir(torch.Tensor)) - rows):
        if not SKIPPED(name):
            found[f"Tensor.{name}"] = attribute_target(name)
    for cls, made in {torch.Tensor: None, **INSTANCES}.items():
        for name, value in public(cls):
            if name not in rows and not (cls is not torch.Tensor and name in dir(tuple)):
                found[f"{cls.__name__}.{name}()"] = free_target(value, made or Maker.tensor)
    for k in range(10):
        for target in (index_target, index_target, operator_target, storage_target, conversion_target, resize_target):
            found[f"{target.__name__}:{k}:{len(found)}"] = target
    return found
