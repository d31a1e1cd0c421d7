"""Comparing tensors in tests, and making tensors to test with.

``torch.testing._internal`` holds the test case, the decorators and the flags that tests of libraries import.
"""

from __future__ import annotations

from torch import _C
from torch.testing._comparison import assert_allclose, assert_close
from torch.testing._creation import get_all_dtypes, make_non_contiguous, make_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["assert_allclose", "assert_close", "get_all_dtypes", "make_non_contiguous", "make_tensor"]


def __getattr__(name: str) -> Any:
    if name == "FileCheck":
        return _C.FileCheck
    raise AttributeError(f"module 'torch.testing' has no attribute {name!r}")
