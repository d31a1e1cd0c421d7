"""Random tasks: sizes, strides and dtypes drawn from distributions, the same for the same seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch


class ParameterAlias:
    """Stands for another parameter's value in a distribution: sizes that are equal half of the time."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias({self.alias_to!r})"


class FuzzedParameter:
    """A number or choice that is drawn anew for each task.

    Args:
        minval, maxval: for the distributions "uniform" and "loguniform"; ints give ints
        distribution: "uniform", "loguniform", or a dict of values (or `ParameterAlias`) to their probabilities
        strict: constraints never replace it
    """

    def __init__(
        self,
        name: str,
        minval: int | float | None = None,
        maxval: int | float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        if isinstance(distribution, str):
            if distribution not in ("uniform", "loguniform"):
                raise ValueError(f"FuzzedParameter {name!r}: unknown distribution {distribution!r}")
            if minval is None or maxval is None or minval > maxval:
                raise ValueError(f"FuzzedParameter {name!r}: needs minval <= maxval, got {minval} and {maxval}")
            if distribution == "loguniform" and minval <= 0:
                raise ValueError(f"FuzzedParameter {name!r}: loguniform needs minval > 0, got {minval}")
        elif isinstance(distribution, dict):
            if abs(sum(distribution.values()) - 1) > 1e-3 or min(distribution.values()) < 0:
                raise ValueError(f"FuzzedParameter {name!r}: probabilities must be positive and sum to 1")
        else:
            raise ValueError(f"FuzzedParameter {name!r}: distribution must be a name or a dict, got {distribution!r}")
        self.name, self.strict = name, strict
        self._low, self._high, self._distribution = minval, maxval, distribution

    def sample(self, state: random.Random) -> Any:
        if isinstance(self._distribution, dict):
            return state.choices(list(self._distribution), list(self._distribution.values()))[0]
        whole = isinstance(self._low, int) and isinstance(self._high, int)
        if self._distribution == "loguniform":
            x = math.exp(state.uniform(math.log(self._low), math.log(self._high)))
            return min(max(round(x), self._low), self._high) if whole else x
        return state.randint(self._low, self._high) if whole else state.uniform(self._low, self._high)


class FuzzedTensor:
    """A tensor whose sizes and steps are parameters.

    Args:
        size: of ints and names of parameters
        steps: of ints and names: every step-th element of something larger
        probability_contiguous: else dims are permuted in memory
        min_elements, max_elements, max_allocation_bytes: tasks beyond are drawn again
        dim_parameter: how many of the dims are used
        tensor_constructor: called with size and dtype; else numbers are drawn
    """

    def __init__(
        self,
        name: str,
        size: tuple,
        steps: tuple | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: torch.dtype | None = torch.float32,
        cuda: bool = False,
        tensor_constructor: Callable | None = None,
    ) -> None:
        if cuda:
            raise NotImplementedError("FuzzedTensor: CUDA needs the plug-in torch-core-cuda")
        self.name, self._size, self._steps = name, size, steps
        self._contiguous = probability_contiguous
        self._least, self._most, self._bytes = min_elements, max_elements, max_allocation_bytes
        self._dim, self._roll, self._dtype, self._make = dim_parameter, roll_parameter, dtype, tensor_constructor

    def satisfies_constraints(self, params: dict) -> bool:
        size, allocated = self._sizes(params)
        count = math.prod(size)
        item = torch.empty(0, dtype=self._dtype).element_size()
        return (
            (self._least is None or count >= self._least)
            and (self._most is None or count <= self._most)
            and (self._bytes is None or math.prod(allocated) * item <= self._bytes)
        )

    def sample(self, params: dict, state: random.Random) -> tuple[torch.Tensor, dict]:
        size, allocated = self._sizes(params)
        order = list(range(len(size)))
        if state.random() > self._contiguous:
            state.shuffle(order)
        shape = [allocated[i] for i in order]
        generator = torch.Generator().manual_seed(state.getrandbits(31))
        if self._make is not None:
            raw = self._make(tuple(shape), dtype=self._dtype)
        elif self._dtype.is_floating_point or self._dtype.is_complex:
            raw = torch.randn(shape, generator=generator, dtype=self._dtype)
        elif self._dtype is torch.bool:
            raw = torch.randint(2, shape, generator=generator).bool()
        else:
            raw = torch.randint(0, 127, shape, generator=generator).to(self._dtype)
        x = raw.permute(*(order.index(i) for i in range(len(order)))) if order else raw
        steps = [a // s if s else 1 for a, s in zip(allocated, size)]
        for dim, step in enumerate(steps):
            if step > 1:
                x = x[(slice(None),) * dim + (slice(None, None, step),)]
        about = {
            "numel": x.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": x.is_contiguous(),
            "dtype": str(self._dtype),
        }
        return x, about

    def _sizes(self, params: dict) -> tuple[list[int], list[int]]:
        dim = params[self._dim] if self._dim else len(self._size)
        value = lambda v: params[v] if isinstance(v, str) else v
        size = [int(value(s)) for s in self._size[:dim]]
        steps = [int(value(s)) for s in (self._steps or ())[:dim]] + [1] * dim
        if self._roll:
            shift = params[self._roll] % max(dim, 1)
            size, steps = size[shift:] + size[:shift], steps[:dim][shift:] + steps[:dim][:shift]
        return size, [n * k for n, k in zip(size, steps)]


class FuzzedSparseTensor(FuzzedTensor):
    """Waits for sparse tensors."""

    def __init__(self, name: str, size: tuple, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "FuzzedSparseTensor: this Fuzzer makes no sparse tensors; FuzzedTensor makes dense ones"
        )


class Fuzzer:
    """Draws parameters and tensors together.

    Args:
        parameters: `FuzzedParameter` objects, or lists of them
        tensors: `FuzzedTensor` objects, or lists of them
        constraints: functions of the parameters, by keyword, that must all hold
        seed: the same seed gives the same tasks
    """

    TRIES = 1000

    def __init__(
        self, parameters: list, tensors: list, constraints: list[Callable] | None = None, seed: int | None = None
    ) -> None:
        flat = lambda items: [x for i in items for x in (i if isinstance(i, (list, tuple)) else [i])]
        self._parameters: list[FuzzedParameter] = flat(parameters)
        self._tensors: list[FuzzedTensor] = flat(tensors)
        self._constraints = constraints or []
        names = [x.name for x in [*self._parameters, *self._tensors]]
        if twice := {n for n in names if names.count(n) > 1}:
            raise ValueError(f"Fuzzer: names are used twice: {', '.join(sorted(twice))}")
        self._seed = random.getrandbits(31) if seed is None else seed
        self._drawn = self._refused = 0

    def take(self, n: int) -> Iterator[tuple[dict, dict, dict]]:
        """n tasks: tensors by name, what they are like by name, and the parameters."""
        state = random.Random(self._seed)
        for _ in range(n):
            params = self._sample(state)
            made = {t.name: t.sample(params, state) for t in self._tensors}
            yield {k: x for k, (x, _) in made.items()}, {k: about for k, (_, about) in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The share of draws that the constraints refused."""
        return self._refused / self._drawn if self._drawn else 0.0

    def _sample(self, state: random.Random) -> dict:
        for _ in range(self.TRIES):
            self._drawn += 1
            params = {p.name: p.sample(state) for p in self._parameters}
            for name, value in params.items():
                seen = {name}
                while isinstance(value, ParameterAlias):
                    if value.alias_to in seen:
                        raise ValueError(f"Fuzzer: the parameter {name!r} is an alias of itself")
                    seen.add(value.alias_to)
                    value = params[value.alias_to]
                params[name] = value
            if all(c(**params) for c in self._constraints) and all(
                t.satisfies_constraints(params) for t in self._tensors
            ):
                return params
            self._refused += 1
        raise RuntimeError(f"Fuzzer: no task in {self.TRIES} draws meets the constraints")
