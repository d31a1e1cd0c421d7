"""Where an opset's operators take bfloat16, and where they are to compute in float32: many took it only from opset 22 on."""

from __future__ import annotations

import functools

import torch

from . import _types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._writer import Writer

NUMBER = _types.number(torch.bfloat16)


@functools.cache
def _kinds(kind: str, opset: int) -> tuple[list[str], list[str], frozenset[str], bool]:
    """The type variables of an operator's inputs and outputs, those that lack bfloat16, and whether the last input repeats."""
    from onnx import defs

    try:
        schema = defs.get_schema(kind, opset, "")
    except defs.SchemaError:
        return [], [], frozenset(), False
    lack = frozenset(
        each.type_param_str
        for each in schema.type_constraints
        if "tensor(float)" in each.allowed_type_strs and "tensor(bfloat16)" not in each.allowed_type_strs
    )
    repeats = bool(schema.inputs) and schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic
    return [x.type_str for x in schema.inputs], [x.type_str for x in schema.outputs], lack, repeats


class Tracked:
    """Which names of a writer are bfloat16, as far as its nodes tell."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def taken(self, w: Writer, kind: str, names: list[str]) -> tuple[list[str], list[bool]]:
        """The inputs as the operator takes them, and which of its outputs are bfloat16 (``None``: to be made so)."""
        if not self.names.intersection(names):
            return names, []
        inputs, outputs, lack, repeats = _kinds(kind, w.opset)
        more = len(names) - len(inputs)
        inputs = inputs + inputs[-1:] * more if repeats else inputs
        found = {of for of, name in zip(inputs, names) if name in self.names}
        if found & lack:
            names = [
                w.op("Cast", name, to=_types.number(torch.float32))
                if of in found & lack and name in self.names
                else name
                for of, name in zip(inputs, names)
            ]
        return names, [of in found and (None if of in lack else True) for of in outputs]

    def given(self, w: Writer, results: list[str], are: list[Any]) -> list[str]:
        """The outputs, those in bfloat16 that were computed in float32."""
        made = [w.op("Cast", name, to=NUMBER) if is_ is None else name for name, is_ in zip(results, are)]
        self.names.update(name for name, is_ in zip(made, are) if is_)
        return made + results[len(made) :]
