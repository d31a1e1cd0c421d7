"""Tests made from tests: parametrize, and a class for each device."""

import unittest

import pytest
import torch
from torch.testing._internal import common_device_type as devices
from torch.testing._internal.common_utils import (
    TestCase,
    decorateIf,
    instantiate_parametrized_tests,
    parametrize,
    subtest,
)


def names_in(case):
    return sorted(unittest.defaultTestLoader.getTestCaseNames(case))


def outcome(case):
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_names_and_values_multiply():
    seen = []

    @instantiate_parametrized_tests
    class Case(TestCase):
        @parametrize("x", [1, 2.5])
        @parametrize("y,z", [subtest(("a", torch.int8), name="named"), ("b", torch.int16)])
        def test_it(self, x, y, z):
            seen.append((x, y, z))

        @parametrize("f", [torch.sin], name_fn=lambda f: f.__name__)
        def test_named(self, f):
            pass

    assert names_in(Case) == [
        "test_it_x_1_named",
        "test_it_x_1_y_b_int16",
        "test_it_x_2_5_named",
        "test_it_x_2_5_y_b_int16",
        "test_named_sin",
    ]
    assert outcome(Case).wasSuccessful() and len(seen) == 4 and (2.5, "a", torch.int8) in seen


def test_decorators_of_one_value_stay_with_it():
    @instantiate_parametrized_tests
    class Case(TestCase):
        @parametrize("x", [subtest(1, decorators=[unittest.skip("no")]), 2])
        def test_it(self, x):
            self.assertEqual(x, 2)

        @decorateIf(unittest.expectedFailure, lambda values: values["x"] == 3)
        @parametrize("x", [3, 4])
        def test_if(self, x):
            self.assertEqual(x, 4)

    result = outcome(Case)
    assert result.testsRun == 4 and len(result.skipped) == 1 and len(result.expectedFailures) == 1
    assert result.wasSuccessful()


def test_mistakes_are_told():
    def made(*marks):
        def test_it(self, **values):
            pass

        for mark in marks:
            test_it = mark(test_it)
        return instantiate_parametrized_tests(type("Case", (TestCase,), {"test_it": test_it}))

    with pytest.raises(RuntimeError, match="two decorators parametrize x"):
        made(parametrize("x", [1]), parametrize("x", [2]))
    with pytest.raises(RuntimeError, match="expected 2 values for x, y, got 3"):
        made(parametrize("x,y", [(1, 2, 3)]))
    with pytest.raises(ValueError, match="got no values"):
        made(parametrize("x", []))


def generic(**tests):
    scope = {}
    case = type("TestIt", (TestCase,), {"__module__": __name__, **tests})
    scope["TestIt"] = case
    devices.instantiate_device_type_tests(case, scope, only_for="cpu")
    assert list(scope) == ["TestItCPU"] and not names_in(case)
    return scope["TestItCPU"]


def test_set_up_of_a_generic_class_reaches_that_of_the_bases_through_the_class_of_the_case():
    seen = []

    def set_up(self):
        seen.append("own")
        super(self.__class__, self).setUp()

    def test_it(self, device):
        seen.append(self.helper())

    case = generic(setUp=set_up, test_it=test_it, helper=lambda self: 3)
    assert outcome(case).wasSuccessful() and seen == ["own", 3]


def test_a_class_for_each_device():
    seen = []

    @devices.dtypes(torch.float32, torch.int64)
    @devices.dtypesIfCUDA(torch.float16)
    @parametrize("n", [3])
    def test_sum(self, device, dtype, n):
        seen.append((device, dtype, n))

    @devices.dtypes((torch.int8, torch.float64))
    def test_two(self, device, dtypes):
        seen.append(dtypes)

    def test_plain(self, device):
        seen.append(self.device_type)

    case = generic(test_sum=test_sum, test_two=test_two, test_plain=test_plain)
    assert names_in(case) == [
        "test_plain_cpu",
        "test_sum_n_3_cpu_float32",
        "test_sum_n_3_cpu_int64",
        "test_two_cpu_int8_float64",
    ]
    assert outcome(case).wasSuccessful()
    assert seen == ["cpu", ("cpu", torch.float32, 3), ("cpu", torch.int64, 3), (torch.int8, torch.float64)]


def test_marks_of_devices():
    @devices.onlyCUDA
    def test_cuda(self, device):
        self.fail("must not run")

    @devices.skipCPUIf(True, "no")
    def test_skip(self, device):
        self.fail("must not run")

    @devices.skipCUDAIf(True, "no")
    @devices.skipCUDAIfRocm(msg="words of one's own")
    @devices.onlyCPU
    @devices.onlyNativeDeviceTypes
    def test_runs(self, device):
        pass

    @devices.expectedFailureCPU
    def test_fails(self, device):
        self.assertEqual(1, 2)

    @devices.expectedFailureCPU
    def test_passes(self, device):
        pass

    @devices.deviceCountAtLeast(2)
    def test_many(self, devices):
        self.fail("must not run")

    @devices.largeTensorTest("999999GB", device="cpu")
    def test_large(self, device):
        self.fail("must not run")

    found = {k: v for k, v in locals().items() if k.startswith("test_")}
    result = outcome(generic(**found))
    assert result.testsRun == 7 and len(result.skipped) == 4 and not result.errors
    [(test, text)] = result.failures
    assert "test_passes" in test.id() and "expected test to fail, but it passed" in text


def test_tolerances_by_dtype_hold_for_the_test_only():
    @devices.dtypes(torch.float16, torch.float32)
    @devices.precisionOverride({torch.float16: 0.5})
    def test_it(self, device, dtype):
        self.assertEqual(torch.ones(1, dtype=dtype), torch.ones(1, dtype=dtype) + 0.4)

    @devices.dtypes(torch.float32)
    @devices.toleranceOverride({torch.float32: devices.tol(atol=0, rtol=0.5)})
    def test_relative(self, device, dtype):
        self.assertEqual(self.rel_tol, 0.5)
        self.assertEqual(1.0, 1.4)

    result = outcome(generic(test_it=test_it, test_relative=test_relative))
    assert result.testsRun == 3 and [test.id().split(".")[-1] for test, _ in result.failures] == ["test_it_cpu_float32"]
    with pytest.raises(AssertionError, match="a dictionary by dtype, got 3"):
        devices.precisionOverride(3)
    with pytest.raises(AssertionError, match="a family is unpacked"):
        devices.dtypes(3)


def test_operators_of_a_table():
    class Op:
        def __init__(self, name):
            self.name = name

        def supported_dtypes(self, device_type):
            return {torch.float32, torch.int64}

    @devices.ops([Op("add"), Op("linalg.norm")], allowed_dtypes=[torch.float32])
    def test_it(self, device, dtype, op):
        self.assertEqual(dtype, torch.float32)

    @devices.ops([Op("add")], dtypes=devices.OpDTypes.none)
    def test_none(self, device, op):
        pass

    case = generic(test_it=test_it, test_none=test_none)
    assert names_in(case) == ["test_it_add_cpu_float32", "test_it_linalg_norm_cpu_float32", "test_none_add_cpu"]
    assert outcome(case).wasSuccessful()
    with pytest.raises(RuntimeError, match="needs instantiate_device_type_tests"):
        instantiate_parametrized_tests(type("C", (TestCase,), {"test_it": devices.ops([Op("add")])(lambda self: 0)}))


def test_a_lazy_device_is_refused():
    with pytest.raises(NotImplementedError, match="no lazy device"):
        devices.instantiate_device_type_tests(type("C", (TestCase,), {}), {}, include_lazy=True)
