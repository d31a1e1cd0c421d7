"""Which sizes of the inputs may change: ``Dim`` and the ways to say where they stand."""

from __future__ import annotations

import enum
import inspect
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import _pytree as pytree

from ._errors import UserError, UserErrorType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX = 2**31 - 1


class HintType(enum.Enum):
    """What may be said of a size without a name."""

    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


class DimError(AssertionError, ValueError):
    """A Dim that cannot be; caught as AssertionError, which it is in PyTorch, and as ValueError."""


@dataclass(frozen=True, repr=False)
class DimHint:
    """What is said of a size without a name: ``Dim.AUTO``, ``Dim.STATIC``, ``Dim.DYNAMIC``; called, with bounds.

    >>> Dim.AUTO(min=2, max=8)
    DimHint(AUTO, min=2, max=8)
    """

    type: HintType
    min: int | None = None
    max: int | None = None

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        if self.min is not None or self.max is not None:
            raise TypeError(f"{self} has its bounds already: say them once, as in Dim.{self.type.name}(min=2, max=8)")
        if min is not None and min < 0:
            raise DimError(f"Dim.{self.type.name}: min must be a size, got {min}")
        if min is not None and max is not None and min > max:
            raise DimError(f"Dim.{self.type.name}: min must be at most max, got min={min}, max={max}")
        return DimHint(self.type, min, max)

    def __repr__(self) -> str:
        bounds = "".join(f", {name}={n}" for name, n in (("min", self.min), ("max", self.max)) if n is not None)
        return f"DimHint({self.type.name}{bounds})"

    @property
    def name(self) -> str:
        """As the caller writes it."""
        return f"Dim.{self.type.name}"

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest size."""
        return _bounds(self)


def _bounds(said):
    return (0 if said.min is None else said.min), (_MAX if said.max is None else said.max)


class ValueRange(NamedTuple):
    """The least and the greatest that a size may be.

    >>> batch = torch.export.Dim("batch", min=2, max=8)
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),), dynamic_shapes=({0: batch},))
    >>> program.range_constraints["batch"].upper
    8
    """

    lower: int
    upper: int


@dataclass(frozen=True)
class Dim:
    """A size that may be another one when the exported program is called, between ``min`` and ``max``.

    ``2 * batch + 1`` is a size that follows another. ``Dim.AUTO`` lets the export find out, ``Dim.DYNAMIC`` is a size
    without a name, ``Dim.STATIC`` the one of the example; ``Dim.AUTO(min=2, max=8)`` has bounds.

    >>> batch = torch.export.Dim("batch", max=64)
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),), dynamic_shapes={"input": {0: batch}})
    >>> program.module()(torch.ones(7, 2)).shape
    torch.Size([7, 1])
    """

    name: str
    min: int | None = None
    max: int | None = None
    scale: int = 1
    shift: int = 0
    root: Dim | None = None

    AUTO = DimHint(HintType.AUTO)
    STATIC = DimHint(HintType.STATIC)
    DYNAMIC = DimHint(HintType.DYNAMIC)

    def __post_init__(self) -> None:
        if self.root is None and not str(self.name).isidentifier():
            raise DimError(f"Dim name must be a valid identifier, got {self.name!r}")
        low, high = self.bounds
        if low > high:
            raise DimError(f"Cannot create Dim {self.name} with inconsistent min={low}, max={high}")

    def __repr__(self) -> str:
        """As PyTorch shows it: ``Dim('batch', min=0)``."""
        high = "" if self.max is None else f", max={self.max}"
        return self.name if self.root is not None else f"Dim('{self.name}', min={self.min or 0}{high})"

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest size."""
        return _bounds(self)

    def _derived(self, scale: int, shift: int) -> Dim:
        root = self.root or self
        scale, shift = scale * self.scale, scale * self.shift + shift
        if scale <= 0:
            raise UserError(UserErrorType.INVALID_INPUT, f"Dim {root.name}: a size is a positive multiple, got {scale}")
        if scale == 1 and shift == 0:
            return root
        text = root.name if scale == 1 else f"{scale}*{root.name}"
        text += f" + {shift}" if shift > 0 else f" - {-shift}" if shift < 0 else ""
        return Dim(text, None, None, scale, shift, root)

    def __add__(self, other: int) -> Dim:
        return self._derived(1, _whole(other))

    def __sub__(self, other: int) -> Dim:
        return self._derived(1, -_whole(other))

    def __mul__(self, other: int) -> Dim:
        return self._derived(_whole(other), 0)

    __radd__, __rmul__ = __add__, __mul__

    def size(self, of_root: int) -> int:
        """The size where the dim that this one follows has a size."""
        return self.scale * of_root + self.shift


def _whole(other):
    if isinstance(other, bool) or not isinstance(other, int):
        raise NotImplementedError(f"Dim: sizes follow others by whole numbers, got {other!r}")
    return other


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dims with the same bounds.

    >>> height, width = dims("height", "width", min=8)
    >>> height.name, width.min
    ('height', 8)
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Which sizes may change, said of the tensors themselves: ``collection[x] = {0: batch}``, for ``dynamic_shapes``.

    >>> x, sizes = torch.ones(3, 2), torch.export.ShapesCollection()
    >>> sizes[x] = {0: torch.export.Dim("batch")}
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (x,), dynamic_shapes=sizes)
    >>> program.module()(torch.ones(7, 2)).shape
    torch.Size([7, 1])
    """

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[torch.Tensor, Any]] = {}

    def __setitem__(self, tensor: torch.Tensor, shape: Any) -> None:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"ShapesCollection: expected a tensor, got {type(tensor).__name__}")
        before = self._shapes.get(id(tensor))
        if before is not None and before[1] != shape:
            raise ValueError(f"ShapesCollection: the tensor has {before[1]} already, and not {shape}")
        self._shapes[id(tensor)] = tensor, shape

    def __getitem__(self, tensor: torch.Tensor) -> Any:
        if id(tensor) not in self._shapes:
            self._shapes[id(tensor)] = tensor, {}
        return self._shapes[id(tensor)][1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple, kwargs: dict | None = None) -> Any:
        """What ``export`` takes: for each argument its dims, in the nesting of the arguments."""
        seen = set()

        def shape(leaf):
            if isinstance(leaf, torch.Tensor) and id(leaf) in self._shapes:
                seen.add(id(leaf))
                return self._shapes[id(leaf)][1]
            return None

        found = {name: pytree.tree_map(shape, value) for name, value in _by_name(m, args, kwargs or {}).items()}
        if left := [tensor for key, (tensor, _) in self._shapes.items() if key not in seen]:
            raise ValueError(f"ShapesCollection: a tensor of shape {tuple(left[0].shape)} is no argument")
        return found


class AdditionalInputs:
    """Further examples of a program's inputs, for ``dynamic_shapes``: sizes and ints in which they differ from the first may change.

    >>> more = torch.export.AdditionalInputs()
    >>> more.add((torch.ones(4, 2),))
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),), dynamic_shapes=more)
    >>> program.module()(torch.ones(7, 2)).shape
    torch.Size([7, 1])
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple, dict]] = []

    def add(self, args: tuple, kwargs: dict | None = None) -> None:
        """Add an example. TypeError for arguments that are no tuple, or by name that are no dict."""
        if not isinstance(args, tuple) or not isinstance(kwargs, (dict, type(None))):
            raise TypeError(
                f"AdditionalInputs: expected a tuple and a dict, got {type(args).__name__} and {type(kwargs).__name__}"
            )
        self._examples.append((args, kwargs or {}))

    def dynamic_shapes(self, m: Any, args: tuple, kwargs: dict | None = None) -> Any:
        """What ``export`` takes. ValueError for an example of another nesting, or whose other values differ."""
        first = _by_name(m, args, kwargs or {})
        leaves, spec = pytree.tree_flatten(first)
        differing: list[set[int | None]] = [set() for _ in leaves]
        for more_args, more_kwargs in self._examples:
            others, other_spec = pytree.tree_flatten(_by_name(m, more_args, more_kwargs))
            if other_spec != spec:
                raise ValueError(f"AdditionalInputs: an example has the structure {other_spec}, the first one {spec}")
            for leaf, other, dims_ in zip(leaves, others, differing, strict=True):
                if type(leaf) is type(other) is int:
                    dims_.update({None} if leaf != other else ())
                elif not isinstance(leaf, torch.Tensor):
                    if leaf != other:
                        raise ValueError(f"AdditionalInputs: an example has {other!r} where the first one has {leaf!r}")
                elif other.dim() != leaf.dim():
                    raise ValueError(f"AdditionalInputs: an example has {other.dim()} dims, the first one {leaf.dim()}")
                else:
                    dims_.update(i for i in range(leaf.dim()) if leaf.shape[i] != other.shape[i])
        return spec.unflatten([_that_differ(dims_) for dims_ in differing])

    def verify(self, ep: Any) -> None:
        """GuardError if a program does not take one of the examples."""
        check = ep.module()._leaves
        for args, kwargs in self._examples:
            check(args, kwargs)


def _that_differ(dims):
    return Dim.DYNAMIC if None in dims else dict.fromkeys(sorted(dims), Dim.DYNAMIC) or None


def located(function: Any, args: tuple, kwargs: dict, dynamic_shapes: Any) -> dict[int, dict[int, Any]]:
    """For each leaf of (args, kwargs) that has dims that may change: dim -> Dim, or a hint."""
    if dynamic_shapes is None:
        return {}
    if isinstance(dynamic_shapes, (AdditionalInputs, ShapesCollection)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(function, args, kwargs)
    named = _by_name(function, args, kwargs)
    leaves, spec = pytree.tree_flatten((args, kwargs))
    places = _by_name(
        function, *pytree.tree_unflatten(list(range(len(leaves))), spec)
    )  # one tensor may stand in several
    if isinstance(dynamic_shapes, dict):
        unknown = set(dynamic_shapes) - set(named)
        if unknown and set(named) == {"args"}:
            unknown = set()
        if unknown:
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes speaks of {', '.join(sorted(map(str, unknown)))}; the inputs are {', '.join(named)}",
            )
        specs = [(named[name], places[name], dynamic_shapes.get(name)) for name in named]
    elif isinstance(dynamic_shapes, (tuple, list)):
        if len(dynamic_shapes) != len(named):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes has {len(dynamic_shapes)} entries, the program has {len(named)} inputs: {', '.join(named)}",
            )
        specs = list(zip(named.values(), places.values(), dynamic_shapes, strict=True))
    else:
        raise UserError(
            UserErrorType.INVALID_INPUT, f"dynamic_shapes must be a dict or a tuple, got {dynamic_shapes!r}"
        )
    found: dict[int, dict[int, Any]] = {}
    for value, place, dims_ in specs:
        _walk(value, place, dims_, found)
    return found


def _by_name(function, args, kwargs):
    try:
        signature = inspect.signature(function.forward if isinstance(function, torch.nn.Module) else function)
        bound = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {**{str(i): a for i, a in enumerate(args)}, **kwargs}
    found = {}
    for name, value in bound.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = value
    return found


def _number(value, place, spec, found):
    """An int among the arguments, which may be another one when the program is called."""
    if isinstance(spec, Dim):
        raise ValueError(
            f"dynamic_shapes: the int {value} cannot be the Dim {spec.name}, which names sizes: say Dim.DYNAMIC or Dim.AUTO"
        )
    if isinstance(spec, int) and spec != value:
        raise UserError(UserErrorType.INVALID_INPUT, f"dynamic_shapes: the argument is {value}, and not {spec}")
    if not isinstance(spec, (int, DimHint)):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"dynamic_shapes: expected Dim.DYNAMIC, Dim.AUTO, Dim.STATIC or None for the int {value}, got {spec!r}",
        )
    if isinstance(spec, DimHint) and spec.type is not HintType.STATIC:
        _within_bounds(f"the argument is {value}", value, spec)
        found.setdefault(place, {})[None] = spec


def _children(value):
    """What a sequence, or an object of a registered class, has in it."""
    if isinstance(value, (tuple, list)):
        return value
    return list(pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)[0])


def _within_bounds(said, number, what):
    low, high = what.bounds
    if isinstance(what, DimHint) and what.min is None:
        low = min(0, number)  # an int may be negative
    if not low <= number <= high:
        raise UserError(
            UserErrorType.CONSTRAINT_VIOLATION, f"dynamic_shapes: {said}, outside of {what.name}'s [{low}, {high}]"
        )


def _walk(value, place, spec, found):
    if spec is None:
        return
    if isinstance(value, int) and not isinstance(value, bool):
        _number(value, place, spec, found)
        return
    if isinstance(value, torch.Tensor):
        entries = spec.items() if isinstance(spec, dict) else enumerate(spec)
        for dim, what in entries:
            if not -value.dim() <= dim < max(value.dim(), 1):
                raise UserError(
                    UserErrorType.INVALID_INPUT, f"dynamic_shapes: dim {dim} of a tensor of {value.dim()} dims"
                )
            if what is None or (isinstance(what, DimHint) and what.type is HintType.STATIC):
                continue
            if isinstance(what, int):
                if what != value.shape[dim]:
                    raise UserError(
                        UserErrorType.INVALID_INPUT, f"dynamic_shapes: dim {dim} is {value.shape[dim]}, and not {what}"
                    )
                continue
            if not isinstance(what, (Dim, DimHint)):
                raise UserError(
                    UserErrorType.INVALID_INPUT, f"dynamic_shapes: expected a Dim, an int or None, got {what!r}"
                )
            _within_bounds(f"dim {dim} is {value.shape[dim]}", value.shape[dim], what)
            found.setdefault(place, {})[dim % value.dim()] = what
        return
    if isinstance(value, dict):
        if isinstance(spec, dict):
            parts = [(value[k], place[k], spec[k]) for k in spec]
        else:
            parts = zip(value.values(), place.values(), spec, strict=True)
    elif isinstance(value, (tuple, list)) or type(value) in pytree.SUPPORTED_NODES:
        kind, value, place = type(value).__name__, _children(value), _children(place)
        if not isinstance(spec, (tuple, list)) or len(spec) != len(value):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes: {spec!r} is said of a {kind} of {len(value)}: give a tuple of as many entries",
            )
        parts = zip(value, place, spec, strict=True)
    else:
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"dynamic_shapes: {spec!r} is said of the {type(value).__name__} {value!r}, which has no dims (expected None)",
        )
    for part in parts:
        _walk(*part, found)
