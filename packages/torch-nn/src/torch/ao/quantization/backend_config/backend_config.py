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


_ENDS = ("input_dtype", "output_dtype", "weight_dtype")


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

    def to_dict(self) -> dict[str, Any]:
        """What is said, by name."""
        said = {name: getattr(self, f"{name}_with_constraints") for name in _ENDS if getattr(self, name) is not None}
        said |= {"bias_dtype": self.bias_dtype, "is_dynamic": self.is_dynamic}
        return {name: value for name, value in said.items() if value is not None}

    @classmethod
    def from_dict(cls, dtype_config_dict: dict[str, Any]) -> DTypeConfig:
        """The configuration of a dict that ``to_dict`` gives; dtypes may stand without constraints."""
        _check_keys(cls, dtype_config_dict, (*_ENDS, "bias_dtype", "is_dynamic"))
        return cls(**dtype_config_dict)


def _check_keys(cls: type, given: dict[str, Any], known: Any) -> None:
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ValueError(
            f"{cls.__name__}.from_dict: unknown keys {', '.join(map(repr, unknown))}; there are {', '.join(map(repr, known))}"
        )


#: what a pattern's dict says, by key, and the attribute that holds it
_SAID = {
    "pattern": "pattern", "observation_type": "observation_type", "dtype_configs": "dtype_configs", "root_module": "root_module",
    "qat_module": "qat_module", "reference_quantized_module_for_root": "reference_quantized_module", "fused_module": "fused_module",
    "fuser_method": "fuser_method", "root_node_getter": "_root_node_getter", "extra_inputs_getter": "_extra_inputs_getter",
    "num_tensor_args_to_observation_type": "_num_tensor_args_to_observation_type", "input_type_to_index": "_input_type_to_index",
    "pattern_complex_format": "_pattern_complex_format",
}  # fmt: skip


class BackendPatternConfig:
    """A layer, function, method's name or tuple of these, and what the machine does with it.

    >>> from torch.ao.quantization.backend_config import BackendPatternConfig
    >>> BackendPatternConfig(torch.nn.Linear).set_root_module(torch.nn.Linear).to_dict()["root_module"]
    <class 'torch.nn.modules.linear.Linear'>
    """

    def __init__(self, pattern: Any = None):
        self.pattern = pattern
        self.observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: list[DTypeConfig] = []
        self.root_module = self.qat_module = self.reference_quantized_module = self.fused_module = None
        self.fuser_method: Any = None
        self._root_node_getter = self._extra_inputs_getter = self._pattern_complex_format = None
        self._num_tensor_args_to_observation_type: dict[int, ObservationType] = {}
        self._input_type_to_index: dict[str, int] = {}  # kept: which arguments are weights is in schemas here

    def add_dtype_config(self, dtype_config: DTypeConfig) -> BackendPatternConfig:
        """One more set of dtypes; gives the same object."""
        self.dtype_configs.append(dtype_config)
        return self

    def to_dict(self) -> dict[str, Any]:
        """What is said, by name."""
        said = {key: getattr(self, attribute) for key, attribute in _SAID.items()}
        said["dtype_configs"] = [each.to_dict() for each in self.dtype_configs]
        kept = ("observation_type", "dtype_configs")
        return {key: value for key, value in said.items() if key in kept or (value is not None and value != {})}

    @classmethod
    def from_dict(cls, backend_pattern_config_dict: dict[str, Any]) -> BackendPatternConfig:
        """The configuration of a dict that ``to_dict`` gives."""
        given = dict(backend_pattern_config_dict)
        _check_keys(cls, given, tuple(_SAID))
        made = cls()
        given["dtype_configs"] = [
            each if isinstance(each, DTypeConfig) else DTypeConfig.from_dict(each)
            for each in given.get("dtype_configs", ())
        ]
        for key, value in given.items():
            setattr(made, _SAID[key], value)
        return made

    def __repr__(self) -> str:
        said = {k: v for k, v in self.to_dict().items() if v != [] and k != "observation_type"}
        return f"BackendPatternConfig({said!r})" if len(said) > 1 else f"BackendPatternConfig({self.pattern!r})"


def _setter(name: str, attribute: str) -> Any:
    def set_(self: Any, value: Any) -> Any:
        setattr(self, attribute, value)
        return self

    set_.__name__ = name
    set_.__doc__ = f"Set ``{attribute.removeprefix('_')}``; gives the same object."
    return set_


for _attribute in _SAID.values():
    _name = f"_set{_attribute}" if _attribute.startswith("_") else f"set_{_attribute}"
    setattr(BackendPatternConfig, _name, _setter(_name, _attribute))


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
        pattern = config.pattern if config._pattern_complex_format is None else config._pattern_complex_format
        self._configs[pattern] = config
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

    def to_dict(self) -> dict[str, Any]:
        """The name and the dicts of the patterns."""
        return {"name": self.name, "configs": [config.to_dict() for config in self.configs]}

    @classmethod
    def from_dict(cls, backend_config_dict: dict[str, Any]) -> BackendConfig:
        """The configuration of a dict that ``to_dict`` gives."""
        _check_keys(cls, backend_config_dict, ("name", "configs"))
        made = cls(backend_config_dict.get("name", ""))
        for config in backend_config_dict.get("configs", ()):
            given = config if isinstance(config, BackendPatternConfig) else BackendPatternConfig.from_dict(config)
            made.set_backend_pattern_config(given)
        return made
