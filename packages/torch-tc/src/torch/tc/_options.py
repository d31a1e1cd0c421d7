"""How a comprehension is run: what the options of 2018 set, as far as a CPU knows it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

FUSIONS = ("Max", "Preserve3Coincident", "Min")


@dataclass
class _Fields:
    """What is chosen. Zero stands for what fits the sizes."""

    tile: tuple[int, ...] = ()  #: extents of the blocks in which results are made, for the dims from the first
    unroll: int = 4  #: at most so many steps of a loop written one after the other
    lanes: int = 0  #: elements in a vector
    fuse: bool = True  #: reductions block by block, beside the statement that needs them
    reduction: bool | None = None  #: vectors along a reduction, not along the result
    parallel: bool = True
    threads: tuple[int, ...] = (32, 8)  #: of a block on a GPU
    blocks: tuple[int, ...] = ()
    naive: bool = False  #: loops as written


class MappingOptions(_Fields):
    """A starting point by name, changed by methods that return the options again.

    The names: ``"naive"`` (loops as they are written), ``"pointwise"``, ``"mlp"``, ``"conv"``, ``"group_conv"``, ``"single_thread"``,
    and ``"auto"``, which fits blocks to the sizes.

    >>> MappingOptions("mlp").tile([4, 32]).unroll(2)
    MappingOptions("mlp").tile([4, 32]).unroll(2)
    """

    PRESETS: dict[str, dict[str, Any]] = {
        "auto": {},
        "naive": {"naive": True, "parallel": False},
        "pointwise": {"unroll": 1},
        "mlp": {"unroll": 4},
        "conv": {"unroll": 8},
        "group_conv": {"unroll": 8},
        "single_thread": {"parallel": False},
    }

    def __init__(self, name: str = "auto"):
        if name not in self.PRESETS:
            raise ValueError(f"options: no starting point {name!r}: there are {', '.join(self.PRESETS)}")
        super().__init__(**self.PRESETS[name])
        self.name = name
        values = self.__dict__
        # the setters have the names of the fields, as in 2018
        self.values = {f.name: values.pop(f.name) for f in fields(_Fields)}

    def _set(self, **values: Any) -> MappingOptions:
        self.values |= values
        if set(values) - {"naive"}:
            self.values["naive"] = self.name == "naive" and not self._differs()
        return self

    def _differs(self) -> dict[str, Any]:
        start = asdict(_Fields(**self.PRESETS[self.name]))
        return {k: v for k, v in self.values.items() if k != "naive" and tuple_of(v) != tuple_of(start[k])}

    def tile(self, sizes: Any, *more: int) -> MappingOptions:
        """Extents of the blocks, for the dims of a result from the first; 0 leaves one open."""
        return self._set(tile=whole("tile", sizes, *more, least=0))

    def unroll(self, factor: int) -> MappingOptions:
        """At most so many steps of a loop one after the other; 0 or 1 for none."""
        return self._set(unroll=max(1, *whole("unroll", factor, least=0)))

    def vectorize(self, lanes: int) -> MappingOptions:
        """Elements in a vector: a power of two, 1 for none, 0 for what the processor has."""
        (lanes,) = whole("vectorize", lanes, least=0)
        if lanes & (lanes - 1) or lanes > 64:
            raise ValueError(f"options: vectorize expected a power of two up to 64, got {lanes}")
        return self._set(lanes=lanes)

    def vectorizeReductions(self, value: bool | None = True) -> MappingOptions:
        """Vectors along the last variable of a reduction instead of along the result; None decides by memory."""
        return self._set(reduction=None if value is None else bool(value))

    def parallel(self, value: bool = True) -> MappingOptions:
        """Whether outer loops go to several threads."""
        return self._set(parallel=bool(value))

    def outerScheduleFusionStrategy(self, strategy: str) -> MappingOptions:
        """``"Min"`` computes every reduction as a whole first; the others block by block."""
        if strategy not in FUSIONS:
            raise ValueError(f"options: no strategy {strategy!r}: there are {', '.join(FUSIONS)}")
        return self._set(fuse=strategy != "Min")

    scheduleFusionStrategy = outerScheduleFusionStrategy

    def intraTileScheduleFusionStrategy(self, strategy: str) -> MappingOptions:
        """Accepted; blocks are always computed statement by statement."""
        if strategy not in FUSIONS:
            raise ValueError(f"options: no strategy {strategy!r}: there are {', '.join(FUSIONS)}")
        return self

    def mapToThreads(self, sizes: Any, *more: int) -> MappingOptions:
        """Threads of a block, in text for GPUs."""
        return self._set(threads=whole("mapToThreads", sizes, *more))

    def mapToBlocks(self, sizes: Any, *more: int) -> MappingOptions:
        """Accepted; sizes of blocks follow from the threads."""
        return self._set(blocks=whole("mapToBlocks", sizes, *more))

    def _accepted(self, *values: Any) -> MappingOptions:
        """Accepted: on a CPU there is nothing to choose, and results do not depend on it."""
        return self

    fixParametersBeforeScheduling = matchLibraryCalls = maxSharedMemory = _accepted
    unrollCopyShared = usePrivateMemory = useReadOnlyCache = useSharedMemory = _accepted

    def serialize(self) -> bytes:
        """The options as bytes; ``MappingOptions.deserialize`` reads them."""
        return json.dumps({"name": self.name, **self.values}).encode()

    @classmethod
    def deserialize(cls, data: bytes | str | dict[str, Any]) -> MappingOptions:
        """
        >>> MappingOptions.deserialize(MappingOptions("conv").tile(2, 8).serialize())
        MappingOptions("conv").tile([2, 8])
        """
        read = dict(data) if isinstance(data, dict) else json.loads(data)
        one = cls(read.pop("name", "auto"))
        if not isinstance(read, dict) or (unknown := set(read) - set(one.values)):
            raise ValueError(f"options: unknown fields {', '.join(sorted(unknown))}")
        for field in ("tile", "threads", "blocks"):
            one.values[field] = whole(field, list(read.get(field, one.values[field])), least=0)
        for field in ("fuse", "parallel", "naive"):
            one.values[field] = bool(read.get(field, one.values[field]))
        one.values["reduction"] = None if read.get("reduction") is None else bool(read["reduction"])
        return one.unroll_and_lanes(read)

    def unroll_and_lanes(self, read: dict[str, Any]) -> MappingOptions:
        naive = self.values["naive"]
        self.unroll(read.get("unroll", self.values["unroll"])).vectorize(read.get("lanes", self.values["lanes"]))
        self.values["naive"] = naive
        return self

    def copy(self) -> MappingOptions:
        return type(self).deserialize({"name": self.name, **self.values})

    @property
    def key(self) -> tuple[Any, ...]:
        """Options of one key compile to one program."""
        return tuple(tuple_of(v) for v in self.values.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MappingOptions) and self.key == other.key

    __hash__ = None  # type: ignore[assignment]

    METHODS = {
        "lanes": "vectorize",
        "reduction": "vectorizeReductions",
        "threads": "mapToThreads",
        "blocks": "mapToBlocks",
    }

    def __repr__(self) -> str:
        text = f'MappingOptions("{self.name}")'
        for k, v in self._differs().items():
            if k == "fuse":
                text += f'.outerScheduleFusionStrategy("{"Preserve3Coincident" if v else "Min"}")'
            else:
                text += f".{self.METHODS.get(k, k)}({list(v) if isinstance(v, tuple | list) else v})"
        return text


Options = MappingOptions


def tuple_of(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def whole(what: str, sizes: Any, *more: int, least: int = 1) -> tuple[int, ...]:
    """Numbers, given one by one or as a list."""
    found = (*(sizes if isinstance(sizes, list | tuple) else (sizes,)), *more)
    for n in found:
        if not isinstance(n, int) or isinstance(n, bool) or not least <= n < 1 << 31:
            raise ValueError(f"options: {what} expected whole numbers from {least}, got {n!r}")
    return tuple(found)
