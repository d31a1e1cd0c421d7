"""What a constructor is given, held to what its ``__init__`` says that it takes.

The annotations of the classes of torch are the table: an ``int`` is what has ``__index__``, a ``float`` what has
``__float__``. They are read as text and only where a class of ours is made, so that a value that would be refused
by some operator within, or kept and refused at the first step, is refused by name before anything is made.
"""

from __future__ import annotations

import operator

import torch

from ._spelling import check as check_spelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    C = TypeVar("C", bound=type)


def checked(root: C) -> C:
    """Decorates a class: keywords and types of the arguments of it and its subclasses are looked at before ``__init__`` runs.

    No base class does that, since one that is shared would decide in which order the bases of a class of a program are
    asked that has two of ours.

    >>> torch.optim.SGD([torch.zeros(1)], lr="0.1")
    Traceback (most recent call last):
    TypeError: SGD: lr must be a number or a tensor, got str ('0.1')
    >>> torch.utils.data.DataLoader([1, 2], batchsize=2)
    Traceback (most recent call last):
    TypeError: DataLoader.__init__() got an unexpected keyword argument 'batchsize'; did you mean 'batch_size'?
    """

    def __new__(cls, *args, **kwargs):
        check(cls, args, kwargs)
        if kwargs:
            check_spelling(cls, kwargs)
        new = super(root, cls).__new__
        return new(cls) if new is object.__new__ else new(cls, *args, **kwargs)

    root.__new__ = staticmethod(__new__)
    for name, value in _CHOICES.items():
        if name not in root.__dict__:
            setattr(root, name, value)
    return root


#: what a class may say of its own
_CHOICES = {
    "_wrong_type": TypeError,  # what is raised
    "_also": {},  # kinds that stand for others, too: {"int": "float"} where counts are only compared
    "_unset": None,  # stands for a value that comes later
}


def check(cls: type, args: tuple, kwargs: dict) -> None:
    """TypeError, or what the class raises, for the first argument that is of none of the types that ``__init__`` of a class of ours takes.

    >>> check(torch.nn.Linear, ("3", 4), {})
    Traceback (most recent call last):
    TypeError: Linear: in_features must be an int, got str ('3')
    """
    init = cls.__init__
    plan = _plans.get(init)
    if plan is None:
        plan = _plan(init)
    names, rules = plan
    if not rules:
        return
    for name, value in [*zip(names, args), *kwargs.items()]:
        rule = rules.get(name)
        if rule is None:
            continue
        if type(value) not in rule.plain:
            rule.look(cls, name, value)
        elif rule.counts and type(value) is int and not -_TOO_BIG <= value < _TOO_BIG:
            raise ValueError(f"{cls.__name__}: {name} must fit into 64 bits, got {value}")


def typed_arguments(cls: type) -> dict[str, tuple[str, ...]]:
    """The arguments of a class of ours that are looked at, each with its kinds.

    >>> typed_arguments(torch.nn.Dropout)
    {'p': ('float',), 'inplace': ('bool',)}
    """
    return {name: tuple(rule.kinds) for name, rule in _plan(cls.__init__)[1].items()}


_TOO_BIG = 2**63
_plans: dict = {}  # by function: those of the classes of torch, which stay
_NOTHING = ((), {})


def _plan(init):
    """The names of the positional arguments of an ``__init__``, and the rules of those that have one."""
    code = getattr(init, "__code__", None)
    if code is None or not str(init.__module__).startswith("torch."):  # None: made by exec
        return _NOTHING
    names = code.co_varnames[1 : code.co_argcount]
    rules = {}
    for name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]:
        kinds = [_kind(part.strip()) for part in _split(str(init.__annotations__.get(name, "Any")))]
        if all(kind in _KINDS for kind in kinds):
            rules[name] = Rule(kinds, _default(init, code, name))
    _plans[init] = names, rules
    return _plans[init]


def _default(init, code, name):
    values = init.__defaults__ or ()
    first = code.co_argcount - len(values)
    named = {code.co_varnames[first + i]: value for i, value in enumerate(values)}
    return {**named, **(init.__kwdefaults__ or {})}.get(name, Rule)


def _split(annotation: str) -> list[str]:
    """The members of a union.

    >>> _split("int | tuple[int | None, ...] | None")
    ['int ', ' tuple[int | None, ...] ', ' None']
    """
    depth, parts = 0, [""]
    for c in annotation:
        depth += (c == "[") - (c == "]")
        if c == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _kind(annotation: str) -> str:
    """An annotation by the name under which ``_KINDS`` has it: what a callable takes, and what a container of no numbers holds, is not looked at.

    >>> _kind("Callable[[Tensor], Tensor]"), _kind("Sequence[int]"), _kind("Iterable[Module]"), _kind("Dataset[T_co]")
    ('Callable', 'Sequence[int]', 'Iterable', 'Dataset')
    """
    outer = annotation.partition("[")[0]
    return annotation if annotation in _KINDS or outer not in _OUTER else outer


class Rule:
    """What one argument may be."""

    def __init__(self, kinds, default):
        self.kinds = kinds
        self.default = default
        self.counts = "int" in kinds and "float" not in kinds
        self.plain = {plain for kind in kinds for plain in _KINDS[kind][0]}  # types that need no further look

    def look(self, cls, name, value):
        if (
            value is self.default
            or value is cls._unset is not None
            or any(_KINDS[kind][1](value) for kind in self.kinds)
            or any(_KINDS[cls._also[kind]][1](value) for kind in self.kinds if kind in cls._also)
        ):
            return
        words = list(dict.fromkeys(_KINDS[kind][2] for kind in self.kinds))
        wanted = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
        raise cls._wrong_type(f"{cls.__name__}: {name} must be {wanted}, got {type(value).__name__}{_shown(value)}")


def _shown(value) -> str:
    """The value in brackets, where it can be shown in a line."""
    if isinstance(value, torch.Tensor):
        return f" of shape {tuple(value.shape)}"
    import reprlib

    try:
        text = reprlib.repr(value)
    except Exception:  # what its __repr__ raises is not what is wrong
        return ""
    return f" ({text})"


def _converts(by, value) -> bool:
    try:
        by(value)
    except (
        TypeError,
        ValueError,
        OverflowError,
    ):  # no such method, or a broken one; what else it raises is its own to tell
        return False
    return True


def _is_int(value) -> bool:
    return _converts(operator.index, value)


def _is_float(value) -> bool:
    if isinstance(value, torch.Tensor):
        return value.numel() == 1
    return not isinstance(value, (str, bytes, bytearray)) and _converts(float, value)


def _is_bool(value) -> bool:
    """Numbers and None have always served as flags; text, containers and classes are a slip."""
    if isinstance(value, torch.Tensor):
        return value.numel() == 1
    return not isinstance(value, (str, bytes, list, tuple, dict, set, type)) and _converts(bool, value)


def _is_tensor(value) -> bool:
    return hasattr(type(value), "__torch_function__")


def _is_sequence(value) -> bool:
    if isinstance(value, torch.Tensor):
        return value.dim() == 1
    kind = type(value)
    return hasattr(kind, "__getitem__") and not isinstance(value, (str, bytes, dict)) and _converts(len, value)


def _is_iterable(value) -> bool:
    return hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__")


def _is_module(value) -> bool:
    return hasattr(type(value), "named_parameters") or hasattr(value, "named_parameters")


def _is_data(value) -> bool:
    return _is_iterable(value) or hasattr(value, "__getitem__")


def _is_dtype(value) -> bool:
    return isinstance(value, torch.dtype) or any(value is kind for kind in (float, int, bool, complex))


def _of(holds, none=False, size=None):
    """Whether a value is a sequence of what holds, and of that length; of lists and tuples the first thousand items are looked at."""

    def check(value):
        if not _is_sequence(value) or (size is not None and len(value) != size):
            return False
        return not isinstance(value, (list, tuple)) or all(holds(v) or (none and v is None) for v in value[:1000])

    return check


_OUTER = {"Callable", "Dataset", "Indexed", "Iterable", "Literal", "Sampler", "Sequence"}

#: annotation: the types that are taken at a glance, whether another value is one, and what to call it
_KINDS = {
    "None": ((type(None),), lambda value: value is None, "None"),
    "int": ((int, bool), _is_int, "an int"),
    "float": ((float, int, bool), _is_float, "a number"),
    "bool": ((bool, int, type(None)), _is_bool, "a bool"),
    "str": ((str,), lambda value: isinstance(value, str), "a str"),
    "Tensor": ((torch.Tensor,), _is_tensor, "a tensor"),
    "Sequence[int]": ((torch.Size,), _of(_is_int), "a sequence of ints"),
    "Sequence[float]": ((), _of(_is_float), "a sequence of numbers"),
    "Sequence[int | None]": ((), _of(_is_int, none=True), "a sequence of ints"),
    "list[int]": ((), _of(_is_int), "a sequence of ints"),
    "torch.Size": ((torch.Size,), _of(_is_int), "a sequence of ints"),
    "list[float]": ((), _of(_is_float), "a sequence of numbers"),
    "tuple[int, ...]": ((), _of(_is_int), "a sequence of ints"),
    "tuple[int | None, ...]": ((), _of(_is_int, none=True), "a sequence of ints"),
    "tuple[float, ...]": ((), _of(_is_float), "a sequence of numbers"),
    "tuple[float, float]": ((), _of(_is_float, size=2), "a pair of numbers"),
    "tuple[float | Tensor, float | Tensor]": ((), _of(_is_float, size=2), "a pair of numbers"),
    "tuple[float | None, float]": ((), _of(_is_float, none=True, size=2), "a pair of numbers"),
    "tuple[float, float, float]": ((), _of(_is_float, size=3), "three numbers"),
    "Iterable[int]": ((), _is_iterable, "an iterable of ints"),
    "Iterable": ((list, tuple), _is_iterable, "an iterable"),
    "Sequence": ((list, tuple), _is_sequence, "a sequence"),
    "Sized": ((list, tuple), lambda value: hasattr(type(value), "__len__"), "a thing with a length"),
    "Callable": ((type(_is_int), type), callable, "a callable"),
    "Module": ((), _is_module, "a Module"),
    "Dataset": ((list,), _is_data, "a data set"),
    "Indexed": ((list,), _is_data, "a data set"),
    "Sampler": ((), _is_iterable, "a sampler"),
    "Distribution": ((), lambda value: hasattr(value, "batch_shape"), "a Distribution"),
    "Transform": ((), lambda value: hasattr(value, "log_abs_det_jacobian"), "a Transform"),
    "torch.dtype": ((torch.dtype,), _is_dtype, "a dtype"),
    "torch.device": ((torch.device,), lambda value: isinstance(value, torch.device), "a device"),
    "torch.Generator": ((torch.Generator,), lambda value: hasattr(value, "initial_seed"), "a Generator"),
    "Literal": ((str,), lambda value: isinstance(value, str), "a str"),
    "Optimizer": ((), lambda value: hasattr(value, "param_groups"), "an Optimizer"),
    "ParamsT": ((list,), _is_iterable, "an iterable of tensors or of dicts"),
}
