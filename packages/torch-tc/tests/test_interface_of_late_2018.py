"""Names of the last releases: texts with methods, factories of options, executors, tuners."""

import pytest
import torch
import torch.tc as tc

pytest.importorskip("halide")

TEXT = """
def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }
def sub(float(N) A, float(N) B) -> (C, D) { C(i) = A(i) - B(i) D() +=! C(i) }
"""
QUICK = tc.TunerConfig().generations(1).pop_size(2).progress(False)
A, B = torch.arange(5.0), torch.ones(5)


def test_definitions_are_methods():
    T = tc.define(TEXT, tc.make_naive_options_factory())
    assert torch.equal(T.add(A, B), A + B) and {"add", "sub"} <= set(dir(T))
    c, d = T.sub(A, B, outputs=(torch.zeros(5), torch.zeros(())))
    assert torch.equal(c, A - B) and d == 5
    with pytest.raises(AttributeError, match="no definition 'mul'; there are add, sub"):
        T.mul
    assert tc.TensorComprehension is tc.TC and torch.equal(tc.TC(TEXT).add(A, B, unchecked=True), A + B)


def test_options_are_tuned_stored_and_loaded(tmp_path):
    file = str(tmp_path / "options")
    tuned = tc.make_autotuned_options_factory(tuner_config=QUICK, cache_filename=file, store_to_cache=True)
    assert torch.equal(tc.define(TEXT, tuned).add(A, B), A + B)
    T = tc.define(TEXT, tc.make_load_from_cache_options_factory(file))
    assert torch.equal(T.add(A, B), A + B)
    with pytest.raises(ValueError, match=r"holds no options of sub for \(5,\), \(5,\)"):
        T.sub(A, B)
    best = tc.autotune(TEXT, "add", A, B, tuner_config=QUICK, cache_filename=file, load_from_cache=True)
    assert tc.Tuner(TEXT, file).tune("add", [A, B], best, QUICK)[0].key
    with pytest.raises(ValueError, match="need cache_filename"):
        tc.autotune(TEXT, "add", A, B, store_to_cache=True)
    with pytest.raises(ValueError, match="no definition 'mul'; there are add, sub"):
        tc.autotune(TEXT, "mul", A, B)


def test_an_executor_runs_its_sizes_only():
    run = tc.compile(TEXT, "add", "naive", A, B)
    assert torch.equal(run(A, B), A + B) and torch.equal(run.run([A, B], [torch.zeros(5)])[0], A + B)
    with pytest.raises(ValueError, match=r"add was compiled for \(\(5,\), \(5,\)\), got \(\(3,\), \(3,\)\)"):
        run(A[:3], B[:3])
    assert torch.equal(tc.autotune_and_compile(TEXT, "add", A, B, tuner_config=QUICK)(A, B), A + B)


def test_a_cache_of_compiled_definitions():
    cache = tc.CompilationCache(TEXT)
    assert not cache.is_compiled("add", [A, B])
    with pytest.raises(RuntimeError, match="add is not compiled for"):
        cache.run("add", [A, B])
    cache.compile("add", [A, B], tc.MappingOptions("naive"))
    assert cache.is_compiled("add", [A, B]) and cache.alloc_outputs("add", [A, B])[0].shape == (5,)
    assert torch.equal(cache.unchecked_run("add", [A, B])[0], A + B)
    with pytest.raises(ValueError, match="no definition 'mul'"):
        cache.compile("mul", [A, B], "naive")


def test_differences_are_measured_by_operations():
    tc.assert_almost_equal(torch.tensor([1e-5]), torch.ones(1) * 10, operations=100)
    with pytest.raises(AssertionError, match="the difference 0.1 exceeds 1e-07: 1 operations of precision 1e-07"):
        tc.assert_almost_equal(torch.tensor([0.1]), torch.ones(1))


def test_flags_by_their_names(capsys):
    tc.dump_ptx(True)
    try:
        tc.define(TEXT, name="add")(A, B)
        assert ".visible .entry" in capsys.readouterr().err
    finally:
        tc.dump_ptx(False)
    with tc.SetDebugFlags(debug_halide=True):
        tc.define(TEXT, name="add")(A, B)
    tc.logtostderr(True)
    with pytest.raises(ValueError, match="no flag 'debug'"):
        tc.SetDebugFlags(debug=True)


@pytest.mark.parametrize(
    "kind, word",
    [("opencl", "__kernel"), ("assembly", ".globl"), ("llvm", "define"), ("c", "#include"), ("loops", "produce")],
)
def test_programs_are_shown_as_text(kind, word):
    assert word in tc.define(TEXT, name="add").code(kind, (5,), B)


def test_ptx_is_for_the_processor_that_is_asked_for():
    text = "def f(float(N,C,H,W,2) I) -> (s, t, u) { s(n, c, h) +=! I(n, c, h, w, k) t() max=! s(n, c, h) u(n, c, h, w) +=! I(n, c, h, w, k) }"
    unit = tc.define(text)
    old, new = (unit.ptx((2, 3, 4, 5, 2), capability=c) for c in (50, 90))
    assert ".target sm_50" in old and ".target sm_86" in new and new.count(".visible .entry") >= 3
    with pytest.raises(ValueError, match="capability expected 30 or more, got 20"):
        unit.ptx((2, 3, 4, 5, 2), capability=20)
    with pytest.raises(ValueError, match="no text of kind 'fortran': there are cuda, "):
        unit.code("fortran", (2, 3, 4, 5, 2))
    with pytest.raises(TypeError, match="f: expected 1 arguments, got 0"):
        unit.ptx()
    with pytest.raises(NotImplementedError, match="kernels written in CUDA are not run"):
        tc.define(text, inject_kernel="f", cuda_code="")
