"""Decorators that leave out a test where it cannot run, or mark it."""

from __future__ import annotations

import functools
import os
import sys
import unittest
import warnings

import torch
from torch.testing._internal import _flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def skips(condition: bool, message: str) -> Callable[..., Any]:
    """A decorator with or without brackets, ``msg=`` or a first text: all forms in which tests write such skips."""

    def decorate(fn: Any = None, *, msg: str | None = None) -> Any:
        if fn is None or isinstance(fn, str):
            return unittest.skipIf(condition, msg or fn or message)
        return unittest.skipIf(condition, msg or message)(fn)

    return decorate


def _unless_lapack() -> bool:
    return not getattr(torch._C, "has_lapack", True)


skipIfRocm = skips(_flags.TEST_WITH_ROCM, "test does not work on ROCm")
skipIfXpu = skips(_flags.TEST_XPU, "test does not work on XPU")
skipIfMPS = skips(_flags.TEST_MPS, "test does not work on MPS")
skipIfHpu = skips(_flags.TEST_HPU, "test does not work on HPU")
skipIfWindows = skips(_flags.IS_WINDOWS, "test does not work on Windows")
skipIfTorchDynamo = skips(_flags.TEST_WITH_TORCHDYNAMO, "test does not work with dynamo")
skipIfTorchInductor = skips(_flags.TEST_WITH_TORCHINDUCTOR, "test does not work with inductor")
skipIfCrossRef = skips(_flags.TEST_WITH_CROSSREF, "test does not work with crossref")
skipIfNoLapack = skips(_unless_lapack(), "needs LAPACK")
skipIfNoSciPy = skips(not _flags.TEST_SCIPY, "needs SciPy")
skipIfNoDill = skips(not _flags.TEST_DILL, "needs dill")
skipIfCompiledWithoutNumpy = skips(not _flags.TEST_NUMPY, "needs NumPy")
skipIfNoXPU = skips(not _flags.TEST_XPU, "needs XPU")
skipIfNoXNNPACK = skips(True, "needs XNNPACK, which this build does not have")
skipIfSlowGradcheckEnv = skips(_flags.TEST_WITH_SLOW_GRADCHECK, "makes no gradcheck")
skipIfS390X = skips(_flags.IS_S390X, "test does not work on s390x")
requires_cuda = unittest.skipUnless(_flags.TEST_CUDA, "needs CUDA")
requires_mkl = unittest.skipUnless(_flags.TEST_MKL, "needs MKL")


def xfailIf(condition: bool) -> Callable[..., Any]:
    """``unittest.expectedFailure`` where the condition holds."""
    return unittest.expectedFailure if condition else lambda fn: fn


def xfailIfTorchDynamo(fn: Any) -> Any:
    """The test must fail with dynamo."""
    return xfailIf(_flags.TEST_WITH_TORCHDYNAMO)(fn)


def xfailIfWindows(fn: Any) -> Any:
    """The test must fail on Windows."""
    return xfailIf(_flags.IS_WINDOWS)(fn)


def xfailIfLinux(fn: Any) -> Any:
    """The test must fail on Linux."""
    return xfailIf(_flags.IS_LINUX)(fn)


def skipIfNotRegistered(name: str, message: str) -> Callable[..., Any]:
    """Skips where torch.ops has no operator of this name, ``quantized::add``."""
    space, _, op = name.rpartition("::")
    try:
        found = bool(getattr(getattr(torch.ops, space or "aten"), op))
    except (AttributeError, RuntimeError):
        found = False
    return unittest.skipIf(not found, message)


def skip_but_pass_in_sandcastle_if(condition: bool, reason: str) -> Callable[..., Any]:
    """Skips where the condition holds; with SANDCASTLE=1 in the environment the test passes without running."""

    def decorate(fn):
        if not (condition and _flags.IS_SANDCASTLE):
            return unittest.skipIf(condition, reason)(fn)

        @functools.wraps(fn)
        def passes(*args, **kwargs):
            print(f"Skipping {fn.__name__}: {reason}", file=sys.stderr)

        return passes

    return decorate


def skip_but_pass_in_sandcastle(reason: str) -> Callable[..., Any]:
    """``skip_but_pass_in_sandcastle_if`` always."""
    return skip_but_pass_in_sandcastle_if(True, reason)


def slowTestIf(condition: bool) -> Callable[..., Any]:
    """``slowTest`` where the condition holds."""
    return slowTest if condition else lambda fn: fn


def slowTest(fn: Any) -> Any:
    """Runs the test only with PYTORCH_TEST_WITH_SLOW=1 in the environment."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if not _flags.TEST_WITH_SLOW:
            raise unittest.SkipTest("test is slow: PYTORCH_TEST_WITH_SLOW=1 in the environment runs it")
        return fn(*args, **kwargs)

    wrapper.slow_test = True
    return wrapper


def suppress_warnings(fn: Any) -> Any:
    """Runs the test without the warnings that it makes."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*args, **kwargs)

    return wrapper


def serialTest(condition: bool = True) -> Callable[..., Any]:
    """Marks a test that wants the machine for itself; runners read ``fn.serial``."""

    def decorate(fn):
        fn.serial = condition
        return fn

    return decorate


def markDynamoStrictTest(cls_or_func: Any = None, nopython: bool = False) -> Any:
    """Says how dynamo would compile the test; there is none, so the test runs as it is."""
    return cls_or_func if cls_or_func is not None else lambda fn: fn


def skip_if_pytest(fn: Any) -> Any:
    """Skips under pytest."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if "PYTEST_CURRENT_TEST" in os.environ:
            raise unittest.SkipTest("does not work under pytest")
        return fn(*args, **kwargs)

    return wrapper
