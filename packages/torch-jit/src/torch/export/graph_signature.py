"""What the inputs and outputs of an exported graph stand for: parameters, buffers, constants, and the user's own."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind",
    "OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument", "TensorArgument", "TokenArgument",
]  # fmt: skip


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class TokenArgument:
    """An order of effects, by the name of its node; there are none here."""

    name: str


@dataclass
class SymIntArgument:
    """An int that is computed, by the name of its node."""

    name: str


@dataclass
class SymFloatArgument:
    """A float that is computed, by the name of its node."""

    name: str


@dataclass
class SymBoolArgument:
    """A bool that is computed, by the name of its node."""

    name: str


@dataclass
class CustomObjArgument:
    """An object of a class of one's own; there are none here."""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclass
class ConstantArgument:
    """A value that is part of the program."""

    name: str
    value: int | float | bool | str | None


class InputKind(enum.Enum):
    """Where an input of the graph comes from."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """Where an output of the graph goes."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class InputSpec:
    """One input: ``target`` is the name in the state dict, ``persistent`` whether a buffer is in it."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None


@dataclass
class OutputSpec:
    """One output: ``target`` is the buffer or input that it is written to."""

    kind: OutputKind
    arg: Any
    target: str | None


@dataclass
class ExportBackwardSignature:
    """Which outputs are gradients; forward programs have none."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of a graph, in their order.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> program.graph_signature.parameters, program.graph_signature.user_inputs
    (('weight', 'bias'), ('input_1',))
    """

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _inputs(self, kind: InputKind) -> list[InputSpec]:
        return [s for s in self.input_specs if s.kind is kind]

    @property
    def parameters(self) -> Collection[str]:
        return tuple(str(s.target) for s in self._inputs(InputKind.PARAMETER))

    @property
    def buffers(self) -> Collection[str]:
        return tuple(str(s.target) for s in self._inputs(InputKind.BUFFER))

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        return tuple(str(s.target) for s in self._inputs(InputKind.BUFFER) if s.persistent is False)

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        return tuple(str(s.target) for s in self._inputs(InputKind.CONSTANT_TENSOR))

    @property
    def lifted_custom_objs(self) -> Collection[str]:
        return ()

    @property
    def user_inputs(self) -> Collection[Any]:
        return tuple(_named(s.arg) for s in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> Collection[Any]:
        return tuple(_named(s.arg) for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        return {s.arg.name: str(s.target) for s in self._inputs(InputKind.PARAMETER)}

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        return {s.arg.name: str(s.target) for s in self._inputs(InputKind.BUFFER)}

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        return {s.arg.name: str(s.target) for s in self._inputs(InputKind.CONSTANT_TENSOR)}

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        return {}

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        return {s.arg.name: str(s.target) for s in self.output_specs if s.kind is OutputKind.BUFFER_MUTATION}

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        return {s.arg.name: str(s.target) for s in self.output_specs if s.kind is OutputKind.USER_INPUT_MUTATION}

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        return None

    @property
    def assertion_dep_token(self) -> Mapping[int, str] | None:
        return None


def _named(argument):
    return argument.value if isinstance(argument, ConstantArgument) else argument.name
