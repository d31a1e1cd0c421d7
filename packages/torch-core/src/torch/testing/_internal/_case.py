"""The test case: ``assertEqual`` for tensors and all that holds them, seeds before each test, checks of warnings."""

from __future__ import annotations

import contextlib
import gc
import re
import sys
import unittest
import unittest.mock
import warnings

import torch
from torch.testing._internal import _equality, _flags, _state
from torch.testing._internal._expected import ExpectedTexts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


class TestCase(ExpectedTexts):
    """unittest.TestCase whose ``assertEqual`` compares tensors, and which seeds every generator before a test.

    >>> from torch.testing._internal.common_utils import TestCase
    >>> TestCase().assertEqual({"a": [torch.ones(2), 1]}, {"a": [torch.ones(2) + 1e-7, 1.0]})
    """

    longMessage = True
    maxDiff = None
    # Tolerances that hold at least, whatever the dtype: @precisionOverride and tests set them.
    precision: float = 0.0
    rel_tol: float = 0.0

    def __init__(self, method_name: str = "runTest", methodName: str = "runTest") -> None:
        super().__init__(methodName if method_name == "runTest" else method_name)

    def setUp(self) -> None:
        """Seeds the generators; skips fast tests with PYTORCH_TEST_SKIP_FAST=1 in the environment."""
        if _flags.TEST_SKIP_FAST and not getattr(getattr(self, self._testMethodName), "slow_test", False):
            self.skipTest("test is fast, and PYTORCH_TEST_SKIP_FAST=1 leaves those out")
        _state.set_rng_seed()

    def assertEqual(  # type: ignore[override]
        self,
        x: Any,
        y: Any,
        msg: str | Callable[[str], str] | float | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """AssertionError unless two values agree within the tolerances, by default those of their dtypes.

        Tests of 2018 give a tolerance third: a number for ``msg`` is ``atol``, beside ``rtol=0``.
        """
        if isinstance(msg, (int, float)) and not isinstance(msg, bool):
            if atol is not None or rtol is not None:
                raise TypeError(f"assertEqual: a tolerance came twice: {msg}, and atol={atol}, rtol={rtol}")
            atol, rtol, msg = float(msg), 0.0, None
        checks = {"device": exact_device, "dtype": exact_dtype, "layout": exact_layout, "stride": exact_stride}
        rules = _equality.Rules(rtol, atol, self.rel_tol, self.precision, equal_nan, checks, exact_is_coalesced)
        try:
            _equality.assert_equal(x, y, rules)
        except AssertionError as error:
            text = (
                msg(str(error))
                if callable(msg)
                else f"{error}\n{msg}"
                if msg and self.longMessage
                else msg or str(error)
            )
            raise self.failureException(text) from None

    def assertNotEqual(  # type: ignore[override]
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None, **kwargs: Any
    ) -> None:
        """The opposite of ``assertEqual``."""
        with self.assertRaises(AssertionError, msg=msg if isinstance(msg, str) else None):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)

    def assertEqualIgnoreType(self, *args: Any, **kwargs: Any) -> None:
        """``assertEqual`` of any dtypes."""
        self.assertEqual(*args, exact_dtype=False, **kwargs)

    def assertEqualBroadcasting(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
        """``assertEqual`` of a tensor and what broadcasts to its shape."""
        y = y if isinstance(y, torch.Tensor) else torch.as_tensor(y, dtype=x.dtype, device=x.device)
        self.assertEqual(x, y.expand_as(x), *args, **kwargs)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        """Two tensors have one type: device, dtype, sparse or not."""
        self.assertEqual((x.device, x.dtype, x.is_sparse), (y.device, y.dtype, y.is_sparse))

    def assertObjectIn(self, obj: Any, iterable: Iterable[Any]) -> None:
        """The object itself is one of these."""
        if not any(obj is one for one in iterable):
            raise self.failureException("object not found in iterable")

    def assertGreaterAlmostEqual(
        self, first: Any, second: Any, places: int | None = None, msg: Any = None, delta: Any = None
    ) -> None:
        """``first`` is greater than ``second``, or less by no more than ``delta`` or the rounding to ``places``."""
        if delta is not None and places is not None:
            raise TypeError("specify delta or places not both")
        if first < second and first != second:
            if (
                (second - first > delta)
                if delta is not None
                else round(second - first, 7 if places is None else places)
            ):
                self.fail(self._formatMessage(msg, f"{first} is less than {second} by more than allowed"))

    def assertNotWarn(self, callable: Callable[[], Any], msg: str = "") -> None:
        """The call makes no warning."""
        with warnings.catch_warnings(record=True) as caught, _state.set_warn_always_context(True):
            warnings.simplefilter("always")
            callable()
        told = "; ".join(str(w.message) for w in caught)
        self.assertFalse(caught, f"{msg}: {told}" if msg else told)

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        """What runs inside makes a warning of the category that matches, even one that is made once a process."""
        with warnings.catch_warnings(record=True) as caught, _state.set_warn_always_context(True):
            warnings.simplefilter("always")
            yield
        if not caught:
            self.fail("no warning was caught")
        if not any(issubclass(w.category, category) and re.match(regex, str(w.message)) for w in caught):
            told = "; ".join(f"{w.category.__name__}: {w.message}" for w in caught)
            self.fail(f"no {category.__name__} matches {regex!r}; there were {told}")

    def assertNoUnraisable(self, callable: Any, *args: Any, **kwargs: Any) -> None:
        """The call leaves no error that could not be raised, as those of ``__del__``."""
        seen: list[Any] = []
        with _state.disable_gc(), unittest.mock.patch.object(sys, "unraisablehook", seen.append):
            callable(*args, **kwargs)
        self.assertFalse(seen, f"an error could not be raised: {[s.exc_value for s in seen]}")

    @contextlib.contextmanager
    def assertLeaksNoCudaTensors(self, name: str | None = None) -> Iterator[None]:
        """What runs inside leaves no CUDA memory allocated that was not before; without CUDA there is none to leave."""
        devices = range(torch.cuda.device_count()) if _flags.TEST_CUDA else ()
        gc.collect()
        before = [torch.cuda.memory_allocated(d) for d in devices]
        yield
        gc.collect()
        for device, allocated in zip(devices, before, strict=True):
            left = torch.cuda.memory_allocated(device) - allocated
            if left > 0:
                self.fail(f"{name or self.id()} leaked {left} bytes of CUDA memory on device {device}")

    def compare_with_numpy(
        self, torch_fn: Any, np_fn: Any, tensor_like: Any, device: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        """A function of tensors gives what one of arrays gives; a list needs ``device`` and ``dtype``."""
        if isinstance(tensor_like, torch.Tensor):
            if device is not None or dtype is not None:
                raise TypeError("compare_with_numpy: a tensor has its device and dtype already")
            t = tensor_like
        else:
            t = torch.tensor(tensor_like, device=device, dtype=dtype)
        a = (t.float() if t.dtype == torch.bfloat16 else t).detach().cpu().numpy()
        self.assertEqual(torch_fn(t), np_fn(a), exact_dtype=kwargs.pop("exact_dtype", False), **kwargs)


TestCaseBase = TestCase
