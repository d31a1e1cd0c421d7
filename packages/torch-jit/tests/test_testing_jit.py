"""JitTestCase: what its checks accept, and that they fail where a program differs."""

import pytest
import torch
from torch.testing._internal import jit_utils
from torch.testing._internal.jit_utils import JitTestCase

case = JitTestCase()


def double(x):
    return x * 2 + helper(x)


def helper(x):
    return x.sin()


class TestScripts(JitTestCase):
    def test_functions_and_texts(self):
        compiled = self.checkScript(double, (torch.rand(3),))
        self.assertGraphContains(compiled.graph, "aten::mul")
        self.checkScript("def f(x, n: int):\n    return x + n\n", (torch.rand(3), 2), name="f")

    def test_names_of_the_test_are_seen(self):
        def triple(x):
            return x * 3

        @torch.jit.script
        def local(x):
            return x + 1

        def calls(x):
            return local(x) + 1

        self.checkScript(triple, (torch.rand(3),))
        self.checkScript(calls, (torch.rand(3),))

    def test_gradients(self):
        self.checkScript(double, (torch.rand(3),), inputs_requires_grad=True)

    def test_errors(self):
        def fails(x):
            if bool(x.sum() < 100):
                raise RuntimeError("too small")
            return x

        self.checkScriptRaisesRegex(fails, (torch.ones(2),), Exception, "too small")

    def test_modules(self):
        self.checkModule(torch.nn.Linear(2, 3), (torch.rand(4, 2),))


def scripted_or_not(x):
    if torch.jit.is_scripting():
        return x + 1
    return x


def test_a_script_that_differs_from_python_fails():
    with pytest.raises(AssertionError, match="Mismatched elements"):
        case.checkScript(scripted_or_not, (torch.ones(2),))
    with pytest.raises(AssertionError, match="not raised"):
        case.checkScriptRaisesRegex(double, (torch.ones(2),), RuntimeError, "anything")
    with pytest.raises(ValueError, match="the text defines no function 'func'"):
        case.checkScript("def g(x):\n    return x", (torch.ones(2),))


def test_traces_agree_up_to_second_gradients():
    traced = case.checkTrace(lambda x, y: (x * y, (x * x).sin()), (torch.rand(3), torch.rand(3)))
    assert torch.allclose(traced(torch.ones(3), torch.ones(3))[0], torch.ones(3))
    with pytest.raises(AssertionError):
        case.checkTrace(lambda x: x if bool(x[0] > 0) else x * 5, (-torch.ones(2),), (torch.ones(2),))


def test_graphs_are_looked_into():
    @jit_utils._trace(torch.ones(2))
    def f(x):
        return x + x * 2

    case.assertGraphContainsExactly(f.graph, "aten::mul", 1)
    case.assertGraphContainsExactly(f.graph, "aten::mul", 1, consider_subgraphs=True)
    with pytest.raises(AssertionError, match="contains 1 aten::mul nodes but expected 2"):
        case.assertGraphContainsExactly(f.graph, "aten::mul", 2)
    with pytest.raises(AssertionError, match="graph contains no aten::sub"):
        case.assertGraphContains(f.graph, "aten::sub")
    assert "aten::mul" in str(case.run_pass("cse", f.graph.copy()))
    with pytest.raises(NotImplementedError, match="there is no pass 'no_such'"):
        case.run_pass("no_such", f.graph)
    copy = case.getExportImportCopy(f)
    assert torch.equal(copy(torch.ones(2)), torch.full((2,), 3.0))
    case.assertExportImport(f.graph, (torch.ones(2),))


def test_expected_graphs_are_in_files(tmp_path, monkeypatch):
    monkeypatch.setattr(JitTestCase, "_expected_file", lambda self, subname: tmp_path / "graph.expect")
    f = torch.jit.trace(lambda x: x + 1, torch.ones(2))
    monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")
    case.assertExpectedGraph(f)
    monkeypatch.delenv("EXPECTTEST_ACCEPT")
    case.assertExpectedGraph(f.graph)
    with pytest.raises(AssertionError):
        case.assertExpectedGraph(torch.jit.trace(lambda x: x * 3, torch.ones(2)))


def test_errors_mark_their_source():
    text = "def f(x):\n    return x + undefined_name\n"
    with case.assertRaisesRegexWithHighlight(Exception, "undefined", "undefined_name"):
        torch.jit.CompilationUnit(text)
    with pytest.raises(AssertionError), case.assertRaisesRegexWithHighlight(Exception, "undefined", ""):
        pass
    with pytest.raises(Exception), case.assertRaisesRegexWithHighlight(Exception, "undefined", "return"):  # noqa: B017
        torch.jit.CompilationUnit(text)


def test_what_is_printed_is_caught():
    with case.capture_stdout() as out:
        print("hello")
    assert out == ["hello\n"]


def test_what_nobody_can_look_at_is_refused():
    for refused in (lambda: case.assertAllFused(None), lambda: case.checkBailouts(None, (), ())):
        with pytest.raises(NotImplementedError, match="programs run as they were compiled here"):
            refused()
    with pytest.raises(NotImplementedError, match="graphs keep calls"), jit_utils.inline_everything_mode(True):
        pass


def test_hooks_of_the_compiler_are_kept():
    case.setHooks()
    assert torch._C._jit_get_emit_hooks() == (case.emitModuleHook, case.emitFunctionHook)
    case.clearHooks()
    assert torch._C._jit_get_emit_hooks() == (None, None)


def test_a_text_calls_functions_that_are_named_where_the_unit_is_made():
    @torch.jit.script
    def inner(x):
        return x * 7

    unit = torch.jit.CompilationUnit("def f(x):\n    return inner(x)\n")
    assert unit.f(torch.ones(1)).tolist() == [7]


def test_small_helpers():
    x = torch.ones(2, requires_grad=True)
    [copy, [other], n] = jit_utils.clone_inputs((x, [x], 3))
    assert not copy.requires_grad and copy is not x and torch.equal(other, x) and n == 3
    assert len(jit_utils.warmup_backward((x * 2).sum(), [x])) == 3
    jit_utils.warmup_backward((x * 2).sum())
    assert x.grad.tolist() == [6, 6]
    assert jit_utils.is_lambda(lambda: 0) and not jit_utils.is_lambda(helper)
    assert jit_utils._get_py3_code("def f(x):\n    return x + 1\n", "f")(1) == 2
    assert jit_utils.enable_cpu_fuser(lambda n: n + 1)(1) == 2
    with jit_utils.NoTracerWarnContextManager():
        torch.jit.trace(lambda x: x if bool(x.sum() > 0) else -x, torch.ones(2))


def test_tables_of_modules_make_modules_that_take_their_inputs():
    from torch.testing._internal import common_nn
    from torch.testing._internal import jit_metaprogramming_utils as tables

    rows = tables.get_all_nn_module_tests()
    assert len({tables.get_nn_mod_test_name(**row) for row in rows}) == len(rows)
    for row in rows:
        kind = tables.get_nn_module_class_from_kwargs(**row)
        module = kind(*row["constructor_args"]).eval()
        given = row["input_fn"]() if "input_fn" in row else torch.randn(row["input_size"])
        given = given if isinstance(given, tuple) else (given,)
        torch.testing.assert_close(torch.jit.script(module)(*given), module(*given))
    for row in common_nn.criterion_tests:
        loss = getattr(torch.nn, row["module_name"])()
        given, target = (
            row[f"{what}_fn"]() if f"{what}_fn" in row else torch.randn(row[f"{what}_size"])
            for what in ("input", "target")
        )
        assert loss(given, target).isfinite()


def test_a_call_is_written_compiled_and_compared_with_its_reference():
    from torch.testing._internal import jit_metaprogramming_utils as tables
    from torch.testing._internal.common_jit import check_against_reference

    (x, y), named = tables.create_input(((3, 3), (3, 3)), call_kwargs={"alpha": 2})
    script = tables.create_script_fn(case, "add", "functional")
    check_against_reference(case, script, torch.add, lambda out: out, (x, y), named)
    traced = tables.create_traced_fn(case, torch.mul)
    check_against_reference(case, traced, torch.mul, lambda out: out, (x, y))
    with pytest.raises(AssertionError):
        check_against_reference(case, script, torch.sub, lambda out: out, (x, y), named)
    assert tables.get_call("relu", "method", ["i0"], {}) == "i0.relu()"
    with pytest.raises(ValueError, match="functional, method or nn_functional"):
        tables.get_call("relu", "macro", ["i0"], {})


def test_a_list_of_tensors_is_one_parameter_of_a_script():
    from torch.testing._internal import jit_metaprogramming_utils as tables

    x = torch.ones(2)
    formals, tensors, actuals = tables.get_script_args((x, [x, x], 3))
    assert (formals, actuals) == (["i0", "i1: List[torch.Tensor]"], ["i0", "i1", "3"])
    assert [type(each) for each in tensors] == [torch.Tensor, list]
    script = tables.create_script_fn(JitTestCase(), "cat", "functional")
    assert torch.equal(script([x, x], 0), torch.ones(4))


def test_names_of_compiled_classes_are_no_part_of_expected_texts(tmp_path, monkeypatch):
    case = JitTestCase()
    monkeypatch.setattr(case, "_expected_file", lambda subname: tmp_path / "text")
    (tmp_path / "text").write_text("forward( self, Tensor x)")
    case.assertExpectedStripMangled("forward(__torch__.package.___torch_mangle_3.Net self, Tensor x)")


def test_counters_are_kept_by_the_logger_that_is_set():
    from torch.jit import _logging

    logger = _logging.LockingLogger()
    before = _logging.set_logger(logger)
    try:
        _logging.add_stat_value("calls", 1)
        _logging.add_stat_value("calls", 5)
    finally:
        _logging.set_logger(before)
    assert logger.get_counter_val("calls") == 6
    logger.set_aggregation_type("calls", _logging.AggregationType.AVG)
    assert logger.get_counter_val("calls") == 3
    assert logger.get_counter_val("none") == 0


def test_a_program_that_packs_its_state_is_packed_before_it_is_saved():
    class Packs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("packed", torch.zeros(()))

        @torch.jit.export
        def _pack(self):
            self.packed.fill_(1)

        @torch.jit.export
        def _unpack(self):
            self.packed.mul_(2)

        def forward(self, x):
            return x + self.packed

    net = torch.jit.script(Packs())
    copy = case.getExportImportCopyWithPacking(net)
    assert (net.packed.item(), copy(torch.zeros(())).item()) == (2, 2)


def test_calls_take_the_word_of_pytorchs_profiler_while_a_test_case_runs():
    case, function = JitTestCase(), torch.jit.script(double)
    case.setUp()
    assert function(torch.ones(1), profile_and_replay=True).shape == (1,)
    case.doCleanups()
    with pytest.raises(TypeError, match="profile_and_replay"):
        function(torch.ones(1), profile_and_replay=True)
