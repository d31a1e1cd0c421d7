"""TestCase and the helpers around it: each can fail, and does where it should."""

import gc
import importlib
import os
import socket
import sys
import unittest
import warnings

import pytest
import torch
from torch.testing._internal import common_dtype, common_utils
from torch.testing._internal.common_utils import TestCase


def outcome(case):
    """(run, failures and errors, skips) of the tests of a class."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result.testsRun, len(result.failures) + len(result.errors), len(result.skipped)


def test_every_test_starts_from_the_same_seeds():
    seen = []

    class Draws(TestCase):
        def test_a(self):
            seen.append(torch.rand(3))

        def test_b(self):
            seen.append(torch.rand(3))

    assert outcome(Draws) == (2, 0, 0) and torch.equal(*seen)


def test_expected_texts_lie_beside_the_test(tmp_path, monkeypatch):
    source = tmp_path / "test_of_texts.py"
    source.write_text("x = 1")
    module = type(os)("test_of_texts")
    module.__file__ = str(source)
    monkeypatch.setitem(sys.modules, "test_of_texts", module)

    class Texts(TestCase):
        __module__ = "test_of_texts"
        __qualname__ = "Texts"

        def test_one(self):
            pass

    case = Texts("test_one")
    with pytest.raises(RuntimeError, match="there is no file .*Texts.test_one-part.expect; EXPECTTEST_ACCEPT=1"):
        case.assertExpected("text\n", "part")
    monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")
    case.assertExpected("text\n", "part")
    monkeypatch.delenv("EXPECTTEST_ACCEPT")
    assert (tmp_path / "expect" / "Texts.test_one-part.expect").read_text() == "text\n"
    case.assertExpected("text\n", "part")
    with pytest.raises(AssertionError, match="text"):
        case.assertExpected("other\n", "part")
    with pytest.raises(TypeError, match="a text or a tuple of texts, got int"):
        case.assertExpected(3)
    case.assertExpectedInline("a\nb", "a\nb")
    with pytest.raises(AssertionError):
        case.assertExpectedInline("a\nb", "a\nc")
    case.assertExpectedRaisesInline(ValueError, lambda: int("x"), "invalid literal for int() with base 10: 'x'")


def test_warnings_are_checked():
    case = TestCase()
    case.assertNotWarn(lambda: 1)
    with pytest.raises(AssertionError, match="here: careful"):
        case.assertNotWarn(lambda: warnings.warn("careful", stacklevel=1), "here")
    with case.assertWarnsOnceRegex(UserWarning, "care"):
        warnings.warn("careful", stacklevel=1)
    with pytest.raises(AssertionError, match="no warning was caught"), case.assertWarnsOnceRegex(UserWarning):
        pass
    with (
        pytest.raises(AssertionError, match="no UserWarning matches 'x'; there were UserWarning: careful"),
        case.assertWarnsOnceRegex(UserWarning, "x"),
    ):
        warnings.warn("careful", stacklevel=1)


def test_other_assertions_hold_and_fail():
    case, x = TestCase(), torch.ones(2)
    case.assertObjectIn(x, [torch.ones(2), x])
    with pytest.raises(AssertionError, match="object not found"):
        case.assertObjectIn(x, [torch.ones(2)])
    case.assertEqualBroadcasting(torch.ones(2, 3), 1)
    with pytest.raises(AssertionError):
        case.assertEqualBroadcasting(torch.ones(2, 3), [1, 1, 2])
    case.assertGreaterAlmostEqual(1.0, 1.0 + 1e-9)
    with pytest.raises(AssertionError, match="is less than"):
        case.assertGreaterAlmostEqual(1.0, 1.5, delta=0.1)
    case.assertEqualTypeString(x, 2 * x)
    with pytest.raises(AssertionError):
        case.assertEqualTypeString(x, x.double())
    np = pytest.importorskip("numpy")
    case.compare_with_numpy(torch.sin, np.sin, x)
    with pytest.raises(AssertionError):
        case.compare_with_numpy(torch.sin, np.cos, [1.0, 2.0], device="cpu", dtype=torch.float64)

    class Bad:
        def __del__(self):
            raise ValueError("late")

    case.assertNoUnraisable(lambda: 1)
    with pytest.raises(AssertionError, match="late"):
        case.assertNoUnraisable(Bad)
    with case.assertLeaksNoCudaTensors():
        pass


def test_settings_are_as_before_afterwards():
    before = torch.get_rng_state()
    with common_utils.freeze_rng_state():
        torch.rand(3)
    assert torch.equal(before, torch.get_rng_state())
    with common_utils.set_default_dtype(torch.float64):
        assert torch.ones(1).dtype == torch.float64
    assert torch.ones(1).dtype == torch.float32
    with common_utils.disable_gc():
        assert not gc.isenabled()
    assert gc.isenabled()

    @common_utils.wrapDeterministicFlagAPITest
    def test():
        torch.use_deterministic_algorithms(not deterministic)
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"

    held, deterministic = os.environ.get("CUBLAS_WORKSPACE_CONFIG"), torch.are_deterministic_algorithms_enabled()
    test()
    assert torch.are_deterministic_algorithms_enabled() == deterministic
    assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == held


def test_files_directories_and_ports():
    with common_utils.TemporaryFileName(suffix=".pt") as name:
        assert name.endswith(".pt") and os.path.getsize(name) == 0
    with common_utils.TemporaryDirectoryName() as folder, common_utils.set_cwd(folder):
        assert os.path.realpath(folder) == os.getcwd()
    assert not os.path.exists(name) and not os.path.exists(folder)
    with socket.socket() as s:
        s.bind(("localhost", common_utils.find_free_port()))


def test_retry_calls_again_and_gives_up():
    calls = []

    @common_utils.retry(ValueError, tries=3, delay=0)
    def third():
        calls.append(1)
        if len(calls) < 3:
            raise ValueError("not yet")
        return "done"

    assert third() == "done" and len(calls) == 3

    @common_utils.retry(ValueError, tries=2, delay=0, skip_after_retries=True)
    def never():
        raise ValueError("no")

    with pytest.raises(unittest.SkipTest, match="failed 2 times: no"):
        never()


def test_skips():
    class Skips(TestCase):
        @common_utils.skipIfNoXNNPACK
        def test_a(self):
            self.fail("must not run")

        @common_utils.slowTest
        def test_b(self):
            assert common_utils.TEST_WITH_SLOW

        @common_utils.skipIfTorchDynamo("reason")
        @common_utils.skipIfRocm(msg="reason")
        @common_utils.skipIfNoLapack
        @common_utils.skipIfNotRegistered("aten::add", "no add")
        def test_c(self):
            pass

        @common_utils.skipIfNotRegistered("aten::no_such_operator", "none")
        def test_d(self):
            self.fail("must not run")

    assert outcome(Skips) == (4, 0, 2 + (not common_utils.TEST_WITH_SLOW))


def test_matrices_are_of_their_kinds():
    kw = {"dtype": torch.complex128, "device": "cpu"}
    h = common_utils.random_hermitian_pd_matrix(4, 2, **kw)
    assert torch.allclose(h, h.mH) and bool((torch.linalg.eigvalsh(h) > 0).all())
    s = common_utils.random_symmetric_matrix(4, 3)
    assert s.shape == (3, 4, 4) and torch.equal(s, s.mT)
    assert int(torch.linalg.matrix_rank(common_utils.random_square_matrix_of_rank(5, 3))) == 3
    assert int(torch.linalg.matrix_rank(common_utils.random_lowrank_matrix(2, 5, 6))) == 2
    assert int(torch.linalg.matrix_rank(common_utils.random_matrix(4, 4, singular=True))) == 2
    assert float(torch.linalg.cond(common_utils.random_well_conditioned_matrix(4, 3, **kw))) < 1.1
    full = common_utils.make_fullrank_matrices_with_distinct_singular_values(4, 3, dtype=torch.float64, device="cpu")
    torch.testing.assert_close(torch.linalg.svdvals(full), torch.tensor([3 / 2, 5 / 4, 2 / 3], dtype=torch.float64))
    with pytest.raises(AssertionError, match=r"square matrices, got \(2, 3\)"):
        common_utils.make_symmetric_matrices(2, 3, dtype=torch.float32, device="cpu")
    for dtype in (torch.float32, torch.bool, torch.int64):
        x = torch.ones(2, 3, dtype=dtype)
        y = common_utils.noncontiguous_like(x)
        assert torch.equal(x, y) and not y.is_contiguous()


def test_small_questions():
    assert common_utils.is_iterable_of_tensors([torch.ones(1)]) and not common_utils.is_iterable_of_tensors(
        torch.ones(1)
    )
    assert not common_utils.is_iterable_of_tensors([1]) and common_utils.is_iterable_of_tensors([], True)
    assert common_utils.dtype_name(torch.complex64) == "complex64"
    assert list(common_utils.iter_indices(torch.ones(1, 2))) == [(0, 0), (0, 1)]
    np = pytest.importorskip("numpy")
    assert common_utils.numpy_to_torch_dtype_dict[np.float16] == torch.float16
    assert common_utils.torch_to_numpy_dtype_dict[torch.bfloat16] == np.float32
    assert common_dtype.floating_types_and(torch.half) == (torch.float32, torch.float64, torch.float16)
    with pytest.raises(TypeError, match="expected dtypes, got 3"):
        common_dtype.all_types_and(3)
    assert set(common_dtype.get_all_dtypes(include_qint=True)) - set(common_dtype.get_all_dtypes()) >= {torch.qint8}
    with pytest.raises(ValueError, match="a number of runs, got -1"), common_utils.num_profiled_runs(-1):
        pass
    with pytest.raises(ImportError, match="no_such_name"):
        from torch.testing._internal.common_utils import no_such_name  # noqa: F401


def test_gradients_are_checked():
    pytest.importorskip("torch.autograd")
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert common_utils.gradcheck(torch.sin, (x,)) and common_utils.gradgradcheck(torch.sin, (x,))

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    with pytest.raises(RuntimeError):
        common_utils.gradcheck(Wrong.apply, (x,), check_batched_grad=False)


def test_tests_of_scripts_say_what_to_install(monkeypatch):
    for name in ("common_jit", "_jit_checks", "jit_utils"):
        monkeypatch.delitem(sys.modules, f"torch.testing._internal.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "torch.jit._ir", None)
    with pytest.raises(ModuleNotFoundError, match="need the distribution 'torch-jit': pip install .* torch-jit"):
        importlib.import_module("torch.testing._internal.jit_utils")
