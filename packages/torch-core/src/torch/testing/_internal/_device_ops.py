"""Tests of many operators: ``@ops(table)`` for a table that the test brings. There is no ``op_db`` in this stack."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from enum import Enum

from torch.testing._internal._parametrize import _copied, _same, _TestParametrizer
from torch.testing._internal.common_dtype import get_all_dtypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class OpDTypes(Enum):
    """With which dtypes a test of operators runs."""

    supported = 0
    unsupported = 1
    supported_backward = 2
    unsupported_backward = 3
    any_one = 4
    none = 5


class ops(_TestParametrizer):
    """The test once for each operator and dtype, passed as ``op`` and ``dtype``.

    An entry of the table has ``formatted_name`` (or ``name``) and ``supported_dtypes(device_type)``, and
    ``supported_backward_dtypes(device_type)`` where those are asked for; ``get_decorators`` is called where it has one.
    """

    def __init__(
        self,
        op_list: Iterable[Any],
        *,
        dtypes: OpDTypes | Sequence[Any] = OpDTypes.supported,
        allowed_dtypes: Any = None,
    ) -> None:
        self.op_list = list(op_list)
        self.dtypes = dtypes
        self.allowed = None if allowed_dtypes is None else set(allowed_dtypes)

    def _chosen(self, op: Any, device_type: str) -> list[Any]:
        kind, every = self.dtypes, get_all_dtypes()
        if isinstance(kind, Sequence):
            found = list(kind)
        elif kind is OpDTypes.none:
            return [None]
        else:
            backward = kind in (OpDTypes.supported_backward, OpDTypes.unsupported_backward)
            known = op.supported_backward_dtypes(device_type) if backward else op.supported_dtypes(device_type)
            without = kind in (OpDTypes.unsupported, OpDTypes.unsupported_backward)
            found = [dtype for dtype in every if (dtype in known) != without]
        found = [dtype for dtype in found if self.allowed is None or dtype in self.allowed]
        return found[:1] if kind is OpDTypes.any_one else found

    def _parametrize_test(self, test: Any, generic_cls: type, device_cls: Any) -> Iterator[Any]:
        if device_cls is None:
            raise RuntimeError(f"{test.__name__}: ops needs instantiate_device_type_tests, which knows the device")
        if not self.op_list:
            raise ValueError(f"{test.__name__}: ops got no operators")
        for op in self.op_list:
            for dtype in self._chosen(op, device_cls.device_type):
                values = {"op": op} if dtype is None else {"op": op, "dtype": dtype}
                marks = []
                if hasattr(op, "get_decorators"):
                    marks = list(
                        op.get_decorators(generic_cls.__name__, test.__name__, device_cls.device_type, dtype, values)
                    )
                name = getattr(op, "formatted_name", None) or op.name.replace(".", "_")
                yield _copied(test), name, values, functools.partial(_same, marks=marks)
