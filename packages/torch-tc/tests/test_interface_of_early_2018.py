"""Names of the first releases: units of several texts, programs by number, a tuner of a text."""

import pytest
import torch
import torch.tc as tc

pytest.importorskip("halide")

ADD = "def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }"
SUB = "def sub(float(N) A, float(N) B) -> (C, D) { C(i) = A(i) - B(i) D() +=! C(i) }"
QUICK = {"generations": 1, "pop_size": 2, "progress": False}
A, B = torch.arange(5.0), torch.ones(5)


def test_a_unit_takes_several_texts_and_runs_by_number():
    unit = tc.TcCompilationUnit()
    unit.define(ADD)
    unit.define(SUB)
    add, sub = unit.compile("add", [A, B]), unit.compile("sub", [A, B], options="naive")
    assert torch.equal(unit.run(add, "add", [A, B])[0], A + B)
    out = [torch.zeros(5), torch.zeros(())]
    c, d = unit.run(sub, "sub", [A, B], outputs=out, unchecked=True)
    assert c is out[0] and torch.equal(c, A - B) and d == 5
    (found,) = unit.compile_and_run("add", [A[:3], B[:3]], options=tc.Options("naive"))
    assert torch.equal(found, A[:3] + 1)


def test_what_was_not_compiled_is_named():
    unit = tc.TcCompilationUnit()
    with pytest.raises(ValueError, match="no definition 'add'; there are none: call define first"):
        unit.compile("add", [A, B])
    unit.define(ADD + SUB)
    handle = unit.compile("add", [A, B])
    with pytest.raises(ValueError, match="7 is no number that compile gave; it gave 1"):
        unit.run(7, "add", [A, B])
    with pytest.raises(ValueError, match="0 was compiled from 'add', not from 'sub'"):
        unit.run(handle, "sub", [A, B])
    with pytest.raises(ValueError, match=r"add was compiled for .*\(5,\).* got .*\(3,\)"):
        unit.run(handle, "add", [A[:3], B[:3]])
    with pytest.raises(TypeError, match="unexpected argument 'grid'"):
        unit.run(handle, "add", [A, B], grid=[1])
    with pytest.raises(NotImplementedError, match="manual_cuda_injection: programs run on the CPU"):
        unit.manual_cuda_injection("add", "__global__ void add() {}", [A, B], [1, 1, 1], [32, 1, 1])


def test_options_are_tuned_stored_and_loaded(tmp_path):
    tuner, file = tc.TcAutotuner(ADD + SUB, name="add", **QUICK), tmp_path / "options"
    best = tuner.autotune(A, B)
    assert torch.equal(tc.define(ADD, name="add")(A, B, options=best), A + B)
    stored = tuner.tune_and_store("sub", [A, B], "naive", file)
    assert tuner.load(file, "sub", [A, B])[0].key == stored.key
    assert len(tuner.load(file, "sub", [(5,), (5,)], num_candidates=10)) >= 1
    assert tuner.load(file, "sub", [(6,), (6,)]) == []
    with pytest.raises(ValueError, match="no definition 'mul'; there are add, sub"):
        tuner.load(file, "mul", [A, B])
    with pytest.raises(ValueError, match="pop_size expected a whole number from 1, got 0"):
        tc.TcAutotuner(ADD, pop_size=0)
    with pytest.raises(ValueError, match="name= has to say which of add, sub"):
        tc.TcAutotuner(ADD + SUB)


@pytest.mark.parametrize("call", [tc.cuda_compiler, tc.nvcc_flags, tc.llvm_flags])
def test_flags_of_compilers_that_do_not_run_are_refused(call):
    with pytest.raises(NotImplementedError, match=call.__name__):
        call("-O3")
