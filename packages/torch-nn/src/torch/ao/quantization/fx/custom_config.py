"""What a user says of a graph beside its configurations: ``prepare_fx``, ``convert_fx`` and ``fuse_fx`` take these."""

from __future__ import annotations

from typing import Any

from ..qconfig_mapping import QConfigMapping
from ..quant_type import QuantType

__all__ = ["ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig", "StandaloneModuleConfigEntry"]


class StandaloneModuleConfigEntry:
    """How a module is prepared by itself."""

    def __init__(self, qconfig_mapping: Any, example_inputs: Any, prepare_custom_config: Any, backend_config: Any):
        self.qconfig_mapping, self.example_inputs = qconfig_mapping, example_inputs
        self.prepare_custom_config, self.backend_config = prepare_custom_config, backend_config

    def as_tuple(self) -> tuple[Any, ...]:
        """The four, dicts where they have such."""
        parts = (self.qconfig_mapping, self.example_inputs, self.prepare_custom_config, self.backend_config)
        return tuple(part.to_dict() if hasattr(part, "to_dict") else part for part in parts)


class _Config:
    """What the three share: attributes to keep, and dicts of the names that they had before 1.13."""

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []

    def set_preserved_attributes(self, attributes: list[str]) -> Any:
        """Attributes of the model that the graph keeps though its code does not read them."""
        self.preserved_attributes = list(attributes)
        return self

    @classmethod
    def of(cls, given: Any, what: str) -> Any:
        """One of these, a dict, or None."""
        if given is None:
            return cls()
        if isinstance(given, dict):
            return cls.from_dict(given)
        if isinstance(given, cls):
            return given
        raise TypeError(f"{what}: expected a {cls.__name__}, got {type(given).__name__}")

    @classmethod
    def from_dict(cls, config: dict[str, Any]) -> Any:
        """The configuration of a dict, as ``prepare_fx`` and its kin took it before 1.13."""
        made = cls()
        for key, value in config.items():
            attribute = _OLD.get(key, key)
            if attribute not in vars(made):
                known = sorted(k for k, name in _OLD.items() if name in vars(made))
                raise ValueError(f"{cls.__name__}: unknown key {key!r}; there are {', '.join(map(repr, known))}")
            if attribute.startswith("standalone"):
                value = {entry[0]: _entry(*entry[1:]) for entry in value}
            elif attribute.endswith("_mapping"):
                value = {_quant_type(kind): dict(classes) for kind, classes in value.items()}
            setattr(made, attribute, value)
        return made

    def to_dict(self) -> dict[str, Any]:
        """What is said, as :meth:`from_dict` takes it."""
        said: dict[str, Any] = {}
        for key, attribute in _OLD.items():
            value = getattr(self, attribute, None)
            if not value:
                continue
            if attribute.startswith("standalone"):
                value = [(of, *entry.as_tuple()) for of, entry in value.items()]
            elif attribute.endswith("_mapping"):
                value = {kind.name.lower(): classes for kind, classes in value.items()}
            said[key] = value
        return said


def _entry(qconfig_mapping: Any, example_inputs: Any, prepare_config: Any, backend_config: Any) -> Any:
    mapping = QConfigMapping.from_dict(qconfig_mapping) if isinstance(qconfig_mapping, dict) else qconfig_mapping
    config = PrepareCustomConfig.from_dict(prepare_config) if isinstance(prepare_config, dict) else prepare_config
    return StandaloneModuleConfigEntry(mapping, example_inputs, config, backend_config)


def _quant_type(kind: Any) -> QuantType:
    if isinstance(kind, QuantType):
        return kind
    if not isinstance(kind, str) or kind.upper() not in QuantType.__members__:
        names = ", ".join(repr(each.name.lower()) for each in QuantType)
        raise ValueError(f"a mapping of classes has {kind!r} where it says how they are quantized: {names}")
    return QuantType[kind.upper()]


_OLD = {
    "standalone_module_name": "standalone_module_names",
    "standalone_module_class": "standalone_module_classes",
    "float_to_observed_custom_module_class": "float_to_observed_mapping",
    "observed_to_quantized_custom_module_class": "observed_to_quantized_mapping",
    "non_traceable_module_name": "non_traceable_module_names",
    "non_traceable_module_class": "non_traceable_module_classes",
    "input_quantized_idxs": "input_quantized_indexes",
    "output_quantized_idxs": "output_quantized_indexes",
    "preserved_attributes": "preserved_attributes",
}


def classes_of(mapping: dict[QuantType, dict[Any, Any]]) -> dict[Any, Any]:
    """The classes of a mapping, however they are quantized."""
    return {given: made for classes in mapping.values() for given, made in classes.items()}


class PrepareCustomConfig(_Config):
    """Modules that are not looked into, and inputs and results that are quantized.

    >>> config = torch.ao.quantization.fx.custom_config.PrepareCustomConfig().set_non_traceable_module_names(["tokenizer"])
    >>> config.non_traceable_module_names
    ['tokenizer']
    """

    def __init__(self) -> None:
        super().__init__()
        self.standalone_module_names: dict[str, Any] = {}
        self.standalone_module_classes: dict[Any, Any] = {}
        self.float_to_observed_mapping: dict[QuantType, dict[Any, Any]] = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[Any] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []

    def set_standalone_module_name(
        self, module_name: str, qconfig_mapping: Any, example_inputs: Any, prepare_custom_config: Any, backend_config: Any
    ) -> PrepareCustomConfig:  # fmt: skip
        """A module that is prepared as a graph of its own."""
        self.standalone_module_names[module_name] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_standalone_module_class(
        self, module_class: Any, qconfig_mapping: Any, example_inputs: Any, prepare_custom_config: Any, backend_config: Any
    ) -> PrepareCustomConfig:  # fmt: skip
        """Modules of a class that are prepared as graphs of their own."""
        self.standalone_module_classes[module_class] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_float_to_observed_mapping(
        self, float_class: Any, observed_class: Any, quant_type: QuantType = QuantType.STATIC
    ) -> PrepareCustomConfig:
        """A class that observes in place of one of floats (``observed_class.from_float``)."""
        self.float_to_observed_mapping.setdefault(_quant_type(quant_type), {})[float_class] = observed_class
        return self

    def set_non_traceable_module_names(self, module_names: list[str]) -> PrepareCustomConfig:
        """Modules by path that are called as they are."""
        self.non_traceable_module_names = list(module_names)
        return self

    def set_non_traceable_module_classes(self, module_classes: list[Any]) -> PrepareCustomConfig:
        """Modules by class that are called as they are."""
        self.non_traceable_module_classes = list(module_classes)
        return self

    def set_input_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Arguments that come as quantized tensors."""
        self.input_quantized_indexes = list(indexes)
        return self

    def set_output_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Results that leave as quantized tensors."""
        self.output_quantized_indexes = list(indexes)
        return self


class ConvertCustomConfig(_Config):
    """Classes that stand in for those that observed."""

    def __init__(self) -> None:
        super().__init__()
        self.observed_to_quantized_mapping: dict[QuantType, dict[Any, Any]] = {}

    def set_observed_to_quantized_mapping(
        self, observed_class: Any, quantized_class: Any, quant_type: QuantType = QuantType.STATIC
    ) -> ConvertCustomConfig:
        """A class in place of one that observed (``quantized_class.from_observed``)."""
        self.observed_to_quantized_mapping.setdefault(_quant_type(quant_type), {})[observed_class] = quantized_class
        return self


class FuseCustomConfig(_Config):
    """Attributes that a fused graph keeps."""
