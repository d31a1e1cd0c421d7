"""Tests that run once for each device: ``instantiate_device_type_tests`` makes a class for each from a generic one.

>>> from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests
>>> from torch.testing._internal.common_utils import TestCase
>>> class TestOnes(TestCase):
...     @dtypes(torch.float32, torch.int64)
...     def test_sum(self, device, dtype):
...         self.assertEqual(torch.ones(3, device=device, dtype=dtype).sum(), 3)
>>> scope = {}
>>> instantiate_device_type_tests(TestOnes, scope, only_for="cpu")
>>> [name for name in dir(scope["TestOnesCPU"]) if "sum" in name]
['test_sum_cpu_float32', 'test_sum_cpu_int64']
"""

from __future__ import annotations

import inspect
import os

import torch
from torch.testing._internal import _flags
from torch.testing._internal._case import TestCase
from torch.testing._internal._device_marks import (  # noqa: F401
    deviceCountAtLeast,
)  # fmt: skip
from torch.testing._internal._device_marks import (
    dtypes as dtypes,
)
from torch.testing._internal._device_marks import (
    dtypesIfCPU as dtypesIfCPU,
)
from torch.testing._internal._device_marks import (
    dtypesIfCUDA as dtypesIfCUDA,
)
from torch.testing._internal._device_marks import (
    dtypesIfMPS as dtypesIfMPS,
)
from torch.testing._internal._device_marks import (
    dtypesIfXPU as dtypesIfXPU,
)
from torch.testing._internal._device_marks import (
    expectedFailure as expectedFailure,
)
from torch.testing._internal._device_marks import (
    expectedFailureCPU as expectedFailureCPU,
)
from torch.testing._internal._device_marks import (
    expectedFailureCUDA as expectedFailureCUDA,
)
from torch.testing._internal._device_marks import (
    expectedFailureMeta as expectedFailureMeta,
)
from torch.testing._internal._device_marks import (
    expectedFailureMPS as expectedFailureMPS,
)
from torch.testing._internal._device_marks import (
    expectedFailureXLA as expectedFailureXLA,
)
from torch.testing._internal._device_marks import (
    expectedFailureXPU as expectedFailureXPU,
)
from torch.testing._internal._device_marks import (
    largeTensorTest as largeTensorTest,
)
from torch.testing._internal._device_marks import (
    onlyAccelerator as onlyAccelerator,
)
from torch.testing._internal._device_marks import (
    onlyCPU as onlyCPU,
)
from torch.testing._internal._device_marks import (
    onlyCUDA as onlyCUDA,
)
from torch.testing._internal._device_marks import (
    onlyMPS as onlyMPS,
)
from torch.testing._internal._device_marks import (
    onlyNativeDeviceTypes as onlyNativeDeviceTypes,
)
from torch.testing._internal._device_marks import (
    onlyNativeDeviceTypesAnd as onlyNativeDeviceTypesAnd,
)
from torch.testing._internal._device_marks import (
    onlyOn as onlyOn,
)
from torch.testing._internal._device_marks import (
    onlyXPU as onlyXPU,
)
from torch.testing._internal._device_marks import (
    precisionOverride as precisionOverride,
)
from torch.testing._internal._device_marks import (
    skipCPUIf as skipCPUIf,
)
from torch.testing._internal._device_marks import (
    skipCPUIfNoFFT as skipCPUIfNoFFT,
)
from torch.testing._internal._device_marks import (
    skipCPUIfNoLapack as skipCPUIfNoLapack,
)
from torch.testing._internal._device_marks import (
    skipCPUIfNoMkl as skipCPUIfNoMkl,
)
from torch.testing._internal._device_marks import (
    skipCPUIfNoMkldnn as skipCPUIfNoMkldnn,
)
from torch.testing._internal._device_marks import (
    skipCUDAIf as skipCUDAIf,
)
from torch.testing._internal._device_marks import (
    skipCUDAIfNoCudnn as skipCUDAIfNoCudnn,
)
from torch.testing._internal._device_marks import (
    skipCUDAIfNoCusolver as skipCUDAIfNoCusolver,
)
from torch.testing._internal._device_marks import (
    skipCUDAIfNoMagma as skipCUDAIfNoMagma,
)
from torch.testing._internal._device_marks import (
    skipCUDAIfNoMagmaAndNoCusolver as skipCUDAIfNoMagmaAndNoCusolver,
)
from torch.testing._internal._device_marks import (
    skipCUDAIfNotRocm as skipCUDAIfNotRocm,
)
from torch.testing._internal._device_marks import (
    skipCUDAIfRocm as skipCUDAIfRocm,
)
from torch.testing._internal._device_marks import (
    skipGPUIf as skipGPUIf,
)
from torch.testing._internal._device_marks import (
    skipIf as skipIf,
)
from torch.testing._internal._device_marks import (
    skipLazy as skipLazy,
)
from torch.testing._internal._device_marks import (
    skipLazyIf as skipLazyIf,
)
from torch.testing._internal._device_marks import (
    skipMeta as skipMeta,
)
from torch.testing._internal._device_marks import (
    skipMetaIf as skipMetaIf,
)
from torch.testing._internal._device_marks import (
    skipMPS as skipMPS,
)
from torch.testing._internal._device_marks import (
    skipMPSIf as skipMPSIf,
)
from torch.testing._internal._device_marks import (
    skipXLA as skipXLA,
)
from torch.testing._internal._device_marks import (
    skipXLAIf as skipXLAIf,
)
from torch.testing._internal._device_marks import (
    skipXPU as skipXPU,
)
from torch.testing._internal._device_marks import (
    skipXPUIf as skipXPUIf,
)
from torch.testing._internal._device_marks import (
    tol as tol,
)
from torch.testing._internal._device_marks import (
    toleranceOverride as toleranceOverride,
)
from torch.testing._internal._device_ops import OpDTypes as OpDTypes
from torch.testing._internal._device_ops import ops as ops
from torch.testing._internal._parametrize import compose_parametrize_fns, dtype_name, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping
    from typing import Any


class DeviceTypeTestBase(TestCase):
    """A test case of one device type; ``device`` of its tests is the first device."""

    device_type = "generic_device_type"

    @classmethod
    def get_primary_device(cls) -> str:
        """The device that tests get: ``cpu``, ``cuda:0``."""
        return cls.device_type

    @classmethod
    def get_all_devices(cls) -> list[str]:
        """The devices that tests of several get, the first one in front."""
        return [cls.get_primary_device()]

    def _run_made(self, test, values):
        before = self.precision, self.rel_tol
        dtype = values.get("dtype")
        if dtype in getattr(test, "tolerance_overrides", {}):
            self.precision, self.rel_tol = test.tolerance_overrides[dtype]
        elif dtype in getattr(test, "precision_overrides", {}):
            self.precision = test.precision_overrides[dtype]
        try:
            return test(self, **values)
        finally:
            self.precision, self.rel_tol = before

    @classmethod
    def instantiate_test(cls, name: str, test: Any, *, generic_cls: type | None = None) -> None:
        """Puts the tests that one generic test stands for on this class."""
        make = getattr(test, "parametrize_fn", lambda test, *_: [(test, "", {}, lambda _: [])])
        listed = getattr(test, "dtypes", None)
        if listed is not None:
            chosen = listed.get(cls.device_type, listed.get("all"))
            if chosen is not None:
                make = compose_parametrize_fns(_of_dtypes(chosen), make)
        for made, suffix, values, marks in make(test, generic_cls, cls):
            values = dict(values)
            named = values.get("dtypes", values.get("dtype"))
            end = "".join(
                f"_{dtype_name(d)}" for d in (named if isinstance(named, tuple) else (named,)) if d is not None
            )
            wanted = inspect.signature(made).parameters
            if hasattr(made, "num_required_devices"):
                values["devices"] = cls.get_all_devices()
            elif "device" in wanted:
                values["device"] = cls.get_primary_device()
            put(cls, "_".join(filter(None, (name, suffix, cls.device_type))) + end, made, values, marks(values))


def _of_dtypes(chosen):
    def make(test, generic_cls, device_cls):
        for dtype in chosen:
            yield test, "", {"dtypes" if isinstance(dtype, tuple) else "dtype": dtype}, lambda _: []

    return make


class CPUTestBase(DeviceTypeTestBase):
    """Tests on the CPU."""

    device_type = "cpu"


class CUDATestBase(DeviceTypeTestBase):
    """Tests on CUDA."""

    device_type = "cuda"

    @classmethod
    def get_primary_device(cls) -> str:
        """The current device."""
        return f"cuda:{torch.cuda.current_device()}"

    @classmethod
    def get_all_devices(cls) -> list[str]:
        """Every GPU, the current one in front."""
        first = cls.get_primary_device()
        return [first, *(d for d in (f"cuda:{i}" for i in range(torch.cuda.device_count())) if d != first)]


device_type_test_bases: list[type[DeviceTypeTestBase]] = [CPUTestBase, *[CUDATestBase] * _flags.TEST_CUDA]


def get_all_device_types() -> list[str]:
    """The device types that tests run on."""
    return [base.device_type for base in device_type_test_bases]


def _asked(name: str, given: Iterable[str] | str | None) -> set[str]:
    given = (given,) if isinstance(given, str) else given or ()
    return {*given, *filter(None, os.environ.get(name, "").split(","))}


def instantiate_device_type_tests(
    generic_test_class: type,
    scope: MutableMapping[str, Any],
    except_for: Iterable[str] | str | None = None,
    only_for: Iterable[str] | str | None = None,
    include_lazy: bool = False,
    allow_mps: bool = False,
    allow_xpu: bool = False,
) -> None:
    """Puts a class for each device in place of the generic one: ``TestFoo`` in ``globals()`` becomes ``TestFooCPU``, ...

    The environment narrows it too: PYTORCH_TESTING_DEVICE_ONLY_FOR=cpu, PYTORCH_TESTING_DEVICE_EXCEPT_FOR=cuda.
    """
    if include_lazy:
        raise NotImplementedError("instantiate_device_type_tests: there is no lazy device in this stack")
    only = _asked("PYTORCH_TESTING_DEVICE_ONLY_FOR", only_for)
    without = _asked("PYTORCH_TESTING_DEVICE_EXCEPT_FOR", except_for)
    scope.pop(generic_test_class.__name__, None)
    above = {name for part in TestCase.__mro__ for name in vars(part)}
    names = [name for name in dir(generic_test_class) if name.startswith("test") and name not in above]
    tests = {name: getattr(generic_test_class, name) for name in names if callable(getattr(generic_test_class, name))}
    for name in tests:  # the generic ones are no tests of their own
        if name in vars(generic_test_class):
            delattr(generic_test_class, name)
        if hasattr(generic_test_class, name):  # a base has it
            setattr(generic_test_class, name, None)
    own = {name: member for name, member in vars(generic_test_class).items() if name not in tests and name[:2] != "__"}
    for name in own:  # they move, so that `super(self.__class__, self).setUp()` goes on to the bases
        delattr(generic_test_class, name)
    for base in device_type_test_bases:
        if (only and base.device_type not in only) or base.device_type in without:
            continue
        name = generic_test_class.__name__ + base.device_type.upper()
        made = type(name, (base, generic_test_class), {"__module__": generic_test_class.__module__, **own})
        for test_name, test in tests.items():
            made.instantiate_test(test_name, test, generic_cls=generic_test_class)
        scope[name] = made
