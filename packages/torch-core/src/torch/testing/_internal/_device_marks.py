"""Decorators of tests that run once for each device: which dtypes, which devices, which tolerances."""

from __future__ import annotations

import functools
import unittest
from collections import namedtuple

import torch
from torch.testing._internal import _flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


class dtypes:
    """The test once for each dtype, passed as ``dtype``; for each tuple of dtypes, passed as ``dtypes``."""

    def __init__(self, *args: Any, device_type: str = "all") -> None:
        tuples = [isinstance(arg, (tuple, list)) for arg in args]
        if any(tuples) and not all(tuples):
            raise AssertionError("dtypes: expected dtypes, or tuples of them, not both")
        for dtype in (d for arg in args for d in (arg if isinstance(arg, (tuple, list)) else (arg,))):
            if not isinstance(dtype, torch.dtype):
                raise AssertionError(
                    f"dtypes: expected dtypes, got {dtype!r}; a family is unpacked: @dtypes(*floating_types())"
                )
        self.args = tuple(tuple(arg) if isinstance(arg, list) else arg for arg in args)
        self.device_type = device_type

    def __call__(self, fn: Any) -> Any:
        listed = dict(getattr(fn, "dtypes", {}))
        if self.device_type in listed:
            raise AssertionError(f"{fn.__name__}: dtypes for {self.device_type} came twice")
        fn.dtypes = {**listed, self.device_type: self.args}
        return fn


def dtypesIfCPU(*args: Any) -> dtypes:
    """Other dtypes on the CPU."""
    return dtypes(*args, device_type="cpu")


def dtypesIfCUDA(*args: Any) -> dtypes:
    """Other dtypes on CUDA."""
    return dtypes(*args, device_type="cuda")


def dtypesIfMPS(*args: Any) -> dtypes:
    """Other dtypes on MPS."""
    return dtypes(*args, device_type="mps")


def dtypesIfXPU(*args: Any) -> dtypes:
    """Other dtypes on XPU."""
    return dtypes(*args, device_type="xpu")


class skipIf:
    """Skips on a device type, or any for None, where the condition holds or names a true attribute of the class."""

    def __init__(self, dep: bool | str, reason: str, device_type: str | None = None) -> None:
        self.dep, self.reason, self.device_type = dep, reason, device_type

    def __call__(self, fn: Any = None, *, msg: str | None = None) -> Any:
        if fn is None:  # with a reason of one's own: @skipCUDAIfRocm(msg="...")
            return skipIf(self.dep, msg or self.reason, self.device_type)

        @functools.wraps(fn)
        def wrapped(self_, *args, **kwargs):
            holds = getattr(self_, self.dep, True) if isinstance(self.dep, str) else self.dep
            if holds and self.device_type in (None, self_.device_type):
                raise unittest.SkipTest(self.reason)
            return fn(self_, *args, **kwargs)

        return wrapped


def _skip_on(device_type: str) -> Callable[[bool | str, str], skipIf]:
    return functools.partial(skipIf, device_type=device_type)


skipCPUIf = _skip_on("cpu")
skipCUDAIf = _skip_on("cuda")
skipMPSIf = _skip_on("mps")
skipXPUIf = _skip_on("xpu")
skipMetaIf = _skip_on("meta")
skipXLAIf = _skip_on("xla")
skipLazyIf = _skip_on("lazy")
skipGPUIf = skipIf
skipMeta = skipMetaIf(True, "test does not work on meta")
skipXLA = skipXLAIf(True, "test does not work on XLA")
skipLazy = skipLazyIf(True, "test does not work on lazy tensors")
skipMPS = skipMPSIf(True, "test does not work on MPS")
skipXPU = skipXPUIf(True, "test does not work on XPU")
skipCPUIfNoLapack = skipCPUIf(False, "needs LAPACK, which every build has")
skipCPUIfNoFFT = skipCPUIf(False, "needs FFT, which every build has")
skipCPUIfNoMkl = skipCPUIf(not _flags.TEST_MKL, "needs MKL")
skipCPUIfNoMkldnn = skipCPUIf(not _flags.TEST_MKLDNN, "needs oneDNN")
skipCUDAIfRocm = skipCUDAIf(_flags.TEST_WITH_ROCM, "test does not work on ROCm")
skipCUDAIfNotRocm = skipCUDAIf(not _flags.TEST_WITH_ROCM, "needs ROCm")
skipCUDAIfNoMagma = skipCUDAIf(True, "needs MAGMA, which this stack does not use")
skipCUDAIfNoCusolver = skipCUDAIf(False, "needs cuSOLVER")
skipCUDAIfNoMagmaAndNoCusolver = skipCUDAIfNoCusolver
skipCUDAIfNoCudnn = skipCUDAIf(not torch.backends.cudnn.is_available(), "needs cuDNN")


class onlyOn:
    """Runs the test on these device types only."""

    def __init__(self, device_type: str | Iterable[str]) -> None:
        self.device_types = (device_type,) if isinstance(device_type, str) else tuple(device_type)

    def __call__(self, fn: Any) -> Any:
        @functools.wraps(fn)
        def wrapped(self_, *args, **kwargs):
            if self_.device_type not in self.device_types:
                raise unittest.SkipTest(f"runs on {', '.join(self.device_types)} only")
            return fn(self_, *args, **kwargs)

        return wrapped


onlyCPU = onlyOn("cpu")
onlyCUDA = onlyOn("cuda")
onlyMPS = onlyOn("mps")
onlyXPU = onlyOn("xpu")
onlyAccelerator = onlyOn(("cuda", "mps", "xpu"))
onlyNativeDeviceTypes = onlyOn(_flags.NATIVE_DEVICES)


def onlyNativeDeviceTypesAnd(devices: Iterable[str] = ()) -> onlyOn:
    """``onlyNativeDeviceTypes``, and these."""
    return onlyOn((*_flags.NATIVE_DEVICES, *devices))


class expectedFailure:
    """The test must fail on this device type, with this dtype where one is given."""

    def __init__(self, device_type: str | None, dtype: torch.dtype | None = None) -> None:
        self.device_type, self.dtype = device_type, dtype

    def __call__(self, fn: Any) -> Any:
        @functools.wraps(fn)
        def wrapped(self_, *args, **kwargs):
            here = self.device_type in (None, self_.device_type)
            if not here or self.dtype not in (None, kwargs.get("dtype")):
                return fn(self_, *args, **kwargs)
            try:
                fn(self_, *args, **kwargs)
            except unittest.SkipTest:
                raise
            except Exception:
                return None
            self_.fail("expected test to fail, but it passed")
            return None

        return wrapped


expectedFailureCPU = expectedFailure("cpu")
expectedFailureCUDA = expectedFailure("cuda")
expectedFailureMeta = expectedFailure("meta")
expectedFailureXLA = expectedFailure("xla")
expectedFailureMPS = expectedFailure("mps")
expectedFailureXPU = expectedFailure("xpu")


class deviceCountAtLeast:
    """Passes all devices of the type as ``devices``; skips where there are fewer."""

    def __init__(self, num_required_devices: int) -> None:
        self.num_required_devices = num_required_devices

    def __call__(self, fn: Any) -> Any:
        if hasattr(fn, "num_required_devices"):
            raise AssertionError(f"{fn.__name__}: deviceCountAtLeast came twice")

        @functools.wraps(fn)
        def wrapped(self_, devices, *args, **kwargs):
            if len(devices) < self.num_required_devices:
                raise unittest.SkipTest(f"needs {self.num_required_devices} devices, and there are {len(devices)}")
            return fn(self_, devices, *args, **kwargs)

        wrapped.num_required_devices = self.num_required_devices
        return wrapped


tol = namedtuple("tol", ["atol", "rtol"])


def _by_dtype(d: Any, kind: type | tuple[type, ...], name: str) -> None:
    if not isinstance(d, dict) or not all(isinstance(k, torch.dtype) and isinstance(v, kind) for k, v in d.items()):
        raise AssertionError(f"{name}: expected a dictionary by dtype, got {d!r}")


class precisionOverride:
    """``precision`` of the test case by dtype: ``@precisionOverride({torch.half: 1e-2})``."""

    def __init__(self, d: dict[torch.dtype, float]) -> None:
        _by_dtype(d, (int, float), "precisionOverride")
        self.d = d

    def __call__(self, fn: Any) -> Any:
        fn.precision_overrides = self.d
        return fn


class toleranceOverride:
    """``precision`` and ``rel_tol`` of the test case by dtype: ``@toleranceOverride({torch.half: tol(atol=1e-2, rtol=0)})``."""

    def __init__(self, d: dict[torch.dtype, Any]) -> None:
        _by_dtype(d, tol, "toleranceOverride")
        self.d = d

    def __call__(self, fn: Any) -> Any:
        fn.tolerance_overrides = self.d
        return fn


def largeTensorTest(size: str | int | Callable[..., int], device: str | None = None) -> Callable[..., Any]:
    """Skips where the device has less free memory than this, ``"8GB"`` or bytes; a text rounds as 1024**3."""

    def decorate(fn):
        @functools.wraps(fn)
        def wrapped(self_, *args, **kwargs):
            wanted = size(self_, *args, **kwargs) if callable(size) else _bytes(size)
            where = torch.device(device or self_.get_primary_device())
            if _free(where) < wanted:
                raise unittest.SkipTest(f"needs {wanted} bytes of free memory on {where}")
            return fn(self_, *args, **kwargs)

        return wrapped

    return decorate


def _bytes(size):
    if not isinstance(size, str):
        return size
    if size[-2:] not in ("GB", "MB"):
        raise ValueError(f"largeTensorTest: expected a size as '8GB' or '512MB', got {size!r}")
    return int(size[:-2]) * 1024 ** (3 if size.endswith("GB") else 2)


def _free(device):
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
