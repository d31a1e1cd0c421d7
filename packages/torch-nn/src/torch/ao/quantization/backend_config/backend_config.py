"""The words for what a machine does with a pattern of layers."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

__all__ = ["BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints", "ObservationType"]


class ObservationType(enum.Enum):
    """Whether the result of a pattern has an observer of its own, that of its input, or none."""

    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1
    INPUT_OUTPUT_NOT_OBSERVED = 2


@dataclass
class DTypeWithConstraints:
    """A dtype, and the bounds that its integers and scales must keep."""

    dtype: Any = None
    quant_min_lower_bound: int | float | None = None
    quant_max_upper_bound: int | float | None = None
    scale_min_lower_bound: int | float | None = None
    scale_max_upper_bound: int | float | None = None
    scale_exact_match: float | None = None
    zero_point_exact_match: int | None = None


def _constrained(dtype: Any) -> DTypeWithConstraints:
    return dtype if isinstance(dtype, DTypeWithConstraints) else DTypeWithConstraints(dtype)


class DTypeConfig:
    """The dtypes of inputs, results, weight and bias of a pattern.

    >>> config = torch.ao.quantization.backend_config.DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float32)
    >>> config.input_dtype, config.weight_dtype
    (torch.quint8, torch.qint8)
    """

    def __init__(
        self,
        input_dtype: Any = None,
        output_dtype: Any = None,
        weight_dtype: Any = None,
        bias_dtype: Any = None,
        is_dynamic: bool | None = None,
    ):
        self.input_dtype_with_constraints = _constrained(input_dtype)
        self.output_dtype_with_constraints = _constrained(output_dtype)
        self.weight_dtype_with_constraints = _constrained(weight_dtype)
        self.bias_dtype, self.is_dynamic = bias_dtype, is_dynamic

    input_dtype = property(lambda self: self.input_dtype_with_constraints.dtype)
    output_dtype = property(lambda self: self.output_dtype_with_constraints.dtype)
    weight_dtype = property(lambda self: self.weight_dtype_with_constraints.dtype)


class BackendPatternConfig:
    """A layer, function or tuple of these, and what the machine does with it."""

    def __init__(self, pattern: Any = None):
        self.pattern = pattern
        self.observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: list[DTypeConfig] = []
        self.root_module = self.qat_module = self.reference_quantized_module = self.fused_module = None
        self.fuser_method: Any = None
        self._input_type_to_index: dict[str, int] = {}  # kept: which arguments are weights is in schemas here

    def __repr__(self) -> str:
        return f"BackendPatternConfig({self.pattern!r})"


def _setter(attribute: str) -> Any:
    def set_(self: Any, value: Any) -> Any:
        setattr(self, attribute, value)
        return self

    set_.__name__ = f"set_{attribute}"
    set_.__doc__ = f"Set ``{attribute}``; gives the same object."
    return set_


for _name in (
    "pattern", "observation_type", "dtype_configs", "root_module", "qat_module", "reference_quantized_module", "fused_module", "fuser_method",
):  # fmt: skip
    setattr(BackendPatternConfig, f"set_{_name}", _setter(_name))
BackendPatternConfig._set_input_type_to_index = _setter("_input_type_to_index")


def _add_dtype_config(self: Any, dtype_config: DTypeConfig) -> Any:
    """One more set of dtypes; gives the same object."""
    self.dtype_configs.append(dtype_config)
    return self


BackendPatternConfig.add_dtype_config = _add_dtype_config


class BackendConfig:
    """The patterns of a machine.

    >>> from torch.ao.quantization.backend_config import BackendConfig, BackendPatternConfig
    >>> BackendConfig("mine").set_backend_pattern_config(BackendPatternConfig(torch.nn.Linear)).configs
    [BackendPatternConfig(<class 'torch.nn.modules.linear.Linear'>)]
    """

    def __init__(self, name: str = ""):
        self.name = name
        self._configs: dict[Any, BackendPatternConfig] = {}

    def set_name(self, name: str) -> BackendConfig:
        """Call it that; gives the same object."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: BackendPatternConfig) -> BackendConfig:
        """Add a pattern, or replace what was said of it."""
        self._configs[config.pattern] = config
        return self

    def set_backend_pattern_configs(self, configs: list[BackendPatternConfig]) -> BackendConfig:
        """Add several."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> list[BackendPatternConfig]:
        """What is said, in its order."""
        return list(self._configs.values())

    def names(self, kind: Any) -> bool:
        """Whether a layer's class or a function is in any of the patterns."""
        return any(kind == p or (isinstance(p, tuple) and kind in p) for p in self._configs)
