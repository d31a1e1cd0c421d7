"""Calls of compiled functions and modules: errors, limits, faces, stances, counters."""

import copy
import inspect
import pickle
import time
import warnings
import weakref

import pytest
import torch
import torch.nn.functional as F
from compiling import agree, programs_run  # noqa: F401  (a fixture of every test)
from torch import nn


def test_fullgraph_names_the_line_that_cannot_be_captured():
    @torch.compile(fullgraph=True)
    def f(x):
        y = x * 2
        return y.numpy().sum()

    with pytest.raises(torch._dynamo.exc.Unsupported) as error:
        f(torch.ones(2))
    line = inspect.getsourcelines(f._torchdynamo_orig_callable)[1] + 3
    assert f"test_compile_calls.py:{line}" in str(error.value) and "numpy" in str(error.value)


def test_errors_keep_the_traceback_of_the_program():
    def inner(x, y):
        return x @ y

    @torch.compile
    def f(x, y):
        return inner(x, y)

    for _ in range(2):
        with pytest.raises(RuntimeError) as error:
            f(torch.ones(2, 3), torch.ones(2, 3))
        names = [entry.name for entry in error.traceback]
        assert names[-2:] == ["f", "inner"]
        assert not any("/compiler/_call" in str(e.path) or "_observer" in str(e.path) for e in error.traceback)

    @torch.compile
    def g(x, i):
        return x.index_select(0, i)

    g(torch.ones(3), torch.tensor([1]))
    with pytest.raises(IndexError) as error:
        g(torch.ones(3), torch.tensor([7]))
    assert error.traceback[-1].name == "g"


def test_an_error_of_a_program_that_has_changed_something_is_that_of_its_operator():
    def f(x, i):
        x.add_(1)
        return torch.nn.functional.embedding(i, x)

    compiled = torch.compile(f)
    compiled(torch.ones(3, 2), torch.tensor([0]))
    x = torch.ones(3, 2)
    with pytest.raises(IndexError) as found:
        compiled(x, torch.tensor([9]))
    assert x.tolist() == [[2, 2]] * 3  # once
    line = f.__code__.co_firstlineno + 2
    with pytest.raises(IndexError) as expected:
        f(torch.ones(3, 2), torch.tensor([9]))
    assert str(found.value) == f'{expected.value}\nin a compiled function: File "{__file__}", line {line}'


def test_every_frame_of_a_traceback_can_be_asked_for_its_variables():
    def make(args):
        return torch.compile(lambda x, i: (x + args).index_select(0, i))

    f = make(torch.ones(2))
    f(torch.ones(2), torch.tensor([1]))
    with pytest.raises(IndexError) as error:
        f(torch.ones(2), torch.tensor([7]))
    frames = [entry.frame.f_locals for entry in error.traceback]  # crashed where the function has free variables
    assert set(frames[-1]) == {"x", "i", "args"}


def test_an_error_half_way_leaves_what_it_would_without_compiling():
    def f(x, i):
        x.add_(1)
        return x.index_select(0, i)

    g = torch.compile(f)
    x = torch.zeros(3)
    g(x, torch.tensor([1]))
    for _ in range(2):
        with pytest.raises(IndexError):
            g(x, torch.tensor([9]))
    assert x.tolist() == [3, 3, 3]


def test_too_many_captures_end_in_plain_calls():
    f = torch.compile(lambda x, n: x * int(str(n)))  # a text of a number is a constant of the program
    with pytest.warns(UserWarning, match="recompile_limit"):
        for n in range(12):
            assert f(torch.ones(1), n).item() == n
    assert not f._compiled.programs
    with torch._dynamo.config.patch(recompile_limit=2):
        g = torch.compile(lambda x, n: x * int(str(n)), fullgraph=True)
        with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
            for n in range(4):
                g(torch.ones(1), n)


def test_functions_of_c_are_called_by_others_only_if_they_are_known(capsys):
    def f(x):
        list(map(print, ["seen"]))
        return sorted([2, 1], key=abs) and x + 1

    g = torch.compile(f)
    for _ in range(3):
        g(torch.ones(1))
    assert capsys.readouterr().out == "seen\n" * 3


def test_the_limit_has_two_names():
    f = torch.compile(lambda x, n: x * int(str(n)))
    with torch._dynamo.config.patch(cache_size_limit=20):
        for n in range(12):
            f(torch.ones(1), n)
        assert f._compiled.captures == 12 and f._compiled.reason is None


def test_what_a_call_was_given_is_not_kept():
    f = torch.compile(lambda x: x.relu() * 2)
    x = torch.randn(3)
    seen = weakref.ref(x)
    f(x)
    del x
    assert seen() is None


def test_modules_keep_their_face():
    net = nn.Sequential(nn.Linear(2, 2))
    compiled = torch.compile(net)
    assert isinstance(compiled, torch._dynamo.OptimizedModule)
    assert compiled._orig_mod is net and list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert compiled[0] is net[0] and len(compiled) == 1
    compiled.eval()
    assert not net.training and torch.compile(compiled)._orig_mod is net
    other = copy.deepcopy(compiled)
    x = torch.randn(1, 2)
    assert torch.equal(other(x), compiled(x)) and other[0].weight is not net[0].weight


def test_a_module_is_compiled_in_place():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    names = list(net.state_dict())
    x = torch.randn(4, 2)
    expected = net(x)
    assert net.compile() is None
    net[0].compile(fullgraph=True)
    for _ in range(3):
        assert torch.equal(net(x), expected)
    assert type(net) is nn.Sequential and list(net.state_dict()) == names
    assert net.forward.compiled._compiled.captures == 1
    other = copy.deepcopy(net)
    with torch.no_grad():
        other[0].weight.zero_()
    assert not torch.equal(other(x), expected) and torch.equal(net(x), expected)
    loaded = pickle.loads(pickle.dumps(net))
    assert torch.equal(loaded(x), expected)
    outer = torch.compile(lambda x: net(x) + 1)
    for _ in range(3):
        assert torch.equal(outer(x), expected + 1)
    with pytest.raises(TypeError):
        net.compile(speed="high", other=1, model=net)


def test_the_mode_of_a_compiled_module_is_that_of_the_module():
    class Frozen(nn.Linear):
        def train(self, mode=True):
            return super().train(False)

    for net in nn.Linear(2, 2), Frozen(2, 2):
        compiled = torch.compile(net)
        for change in (net.eval, net.train, compiled.eval, compiled.train):
            assert change() in (net, compiled) and compiled.training is net.training
        compiled.training = False
        assert not net.training and not compiled.training


def test_lists_of_indices_are_constants():
    def f(x):
        y = x.clone()
        y[[0, 1]] = x[1:3]
        y[0, [1, 2]] += 1
        return x[[1, 0]], x[:, [0, 2, 1]], x[[0, 1], [1, 2]], y

    g = torch.compile(f, fullgraph=True)
    for _ in range(3):
        x = torch.randn(3, 4)
        assert agree(g(x), f(x))


def test_decorated_methods_are_bound():
    class Net(nn.Module):
        def __init__(self, k):
            super().__init__()
            self.k = k

        @torch.compile
        def forward(self, x):
            return x * self.k

    a, b = Net(2), Net(3)
    for _ in range(2):
        assert a(torch.ones(1)).item() == 2 and b(torch.ones(1)).item() == 3
    assert Net.forward.__name__ == "forward"


def test_is_compiling_is_true_while_a_program_is_captured():
    f = torch.compile(lambda x: x + 1 if torch.compiler.is_compiling() else x - 1)
    assert f(torch.zeros(1)).item() == 1 and f(torch.zeros(1)).item() == 1
    assert not torch.compiler.is_compiling()


@pytest.mark.parametrize("cut", [False, True])
def test_a_function_that_asks_whether_it_is_compiled_stays_compiled(cut):
    def f(x):
        if torch.compiler.is_compiling():
            x = x + 1
        if cut:
            time.sleep(0)
        return x

    compiled = torch.compile(f)
    assert {compiled(torch.zeros(1)).item() for _ in range(60)} == {1.0}
    assert f(torch.zeros(1)).item() == 0


def test_stances():
    calls = []

    @torch.compile
    def f(x):
        return x * 2

    def count():
        return f._compiled.captures

    with torch.compiler.set_stance("force_eager"):
        f(torch.ones(2))
    assert count() == 0
    f(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        f(torch.ones(2))
        with pytest.raises(RuntimeError, match="recompile"):
            f(torch.ones(3))

    @torch.compiler.set_stance("force_eager")
    def g(x):
        calls.append(f(x))

    g(torch.ones(4))
    assert count() == 1 and len(calls) == 1
    with pytest.raises(RuntimeError, match="unknown stance"):
        torch.compiler.set_stance("other")


def test_arguments_that_make_no_sense():
    with pytest.raises(RuntimeError, match="not both"):
        torch.compile(lambda x: x, mode="default", options={})
    with pytest.raises(RuntimeError, match="unrecognized mode"):
        torch.compile(lambda x: x, mode="quick")
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="unknown backend"):
        torch.compile(lambda x: x, backend="mine")
    with pytest.raises(RuntimeError, match="expected a module or function"):
        torch.compile(3)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"freezng": True}, "unexpected option 'freezng'; did you mean 'freezing'?"),
        ({"triton.cudagraph": True}, "did you mean 'triton.cudagraphs'?"),
        ({"max-autotun": True}, "did you mean 'max_autotune'?"),
        ({"~~~~": True}, "list_options\\(\\) names those that have an effect"),
        ({3: True}, "unexpected option 3"),
        ({"max_autotune": 1}, "the option 'max_autotune' must be of type bool, got 1 of type int"),
        ({"trace.debug_dir": 1}, None),
        ([("freezing", True)], "options must be a dict of names and values, got list"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, words):
    if words is None:
        assert torch.compile(lambda x: x + 1, options=options)(torch.ones(1)) == 2
        return
    with pytest.raises(RuntimeError, match=words.replace("?", "\\?")):
        torch.compile(lambda x: x, options=options)


def test_options_of_the_compiler_to_native_code_are_taken():
    options = {"max-autotune": True, "epilogue_fusion": True, "triton.cudagraphs": False, "compile_threads": 2}
    assert torch.compile(lambda x: x + 1, options=options)(torch.ones(1)) == 2
    assert torch.compile(lambda x: x + 1, backend="eager", options={"own": 3})(torch.ones(1)) == 2
    with pytest.raises(TypeError, match="fulgraph"):
        torch.compile(lambda x: x, fulgraph=True)
    with pytest.raises(NotImplementedError, match="mark_dynamic"):
        torch.compile(lambda x: x, shapes_spec={})
    with pytest.raises(ValueError, match="recompile_limit must be an int that is not negative, got -1"):
        torch.compile(lambda x: x, recompile_limit=-1)


def test_a_limit_of_programs_is_that_of_one_call_of_compile():
    def f(x, word):
        return x + len(word)

    limited, free = torch.compile(f, recompile_limit=2, fullgraph=True), torch.compile(f, fullgraph=True)
    for word in ("a", "bb", "ccc"):
        assert free(torch.zeros(1), word) == len(word)
    for word in ("a", "bb"):
        assert limited(torch.zeros(1), word) == len(word)
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit, match="captured 2 times"):
        limited(torch.zeros(1), "ccc")


def test_a_copy_of_a_compiled_module_is_compiled_alike():
    seen = []

    def backend(module, inputs):
        seen.append(len(inputs))
        return module.forward

    compiled = torch.compile(torch.nn.Linear(2, 2), backend=backend, fullgraph=True)
    copied = copy.deepcopy(compiled)
    x = torch.ones(1, 2)
    assert torch.equal(copied(x), compiled(x)) and len(seen) == 2 and copied._orig_mod is not compiled._orig_mod


def test_explain_names_breaks():
    def f(x):
        print(x.shape)
        return x

    said = torch._dynamo.explain(f)(torch.ones(2))
    assert said.graph_break_count == 1 and "print" in said.break_reasons[0].reason and "print" in str(said)


def test_counters_and_logs(caplog):
    torch._dynamo.utils.counters.clear()
    torch._logging.set_logs(graph_breaks=True, recompiles=True)
    try:
        f = torch.compile(lambda x: x + 1)
        f(torch.ones(2))
        f(torch.ones(3))
        torch.compile(lambda x: x + x.sum().item())(torch.ones(2))
    finally:
        torch._logging.set_logs()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2
    text = caplog.text
    assert "shape was (2,), is (3,)" in text and "item of a tensor" in text


def test_a_program_that_is_slower_gives_way(monkeypatch):
    with torch._dynamo.config.patch(choose_faster=True):
        f = torch.compile(lambda x: x + 1)
        for n in range(20):
            assert f(torch.ones(2) * n).tolist() == [n + 1, n + 1]
        slow = torch.compile(lambda x: x + 1)
        slow(torch.ones(2))
        slow._compiled._slower()
        for n in range(20):
            assert slow(torch.ones(2) * n).tolist() == [n + 1, n + 1]
        assert "slower" in str(slow._compiled.reason) and slow._compiled.captures == 1


def test_reset_forgets_programs():
    f = torch.compile(lambda x: x + 1)
    f(torch.ones(2))
    torch._dynamo.reset()
    assert not f._compiled.programs
    assert f(torch.ones(2)).tolist() == [2, 2]


def test_modes_of_functions_see_every_operator():
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    f = torch.compile(lambda x: x.relu() + 1)
    f(torch.ones(2))
    with Mode():
        f(torch.ones(2))
    assert "relu" in seen


def test_subclasses_are_left_alone():
    class Mine(torch.Tensor):
        pass

    f = torch.compile(lambda x: x + 1)
    x = torch.ones(2).as_subclass(Mine)
    assert type(f(x)) is Mine and type(f(x)) is Mine


class Boxed(torch.Tensor):
    """A wrapper in the form that tracers can see through."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    def __tensor_flatten__(self):
        return ["inner"], None

    @classmethod
    def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
        return cls(operator(*(a.inner if isinstance(a, cls) else a for a in args), **(kwargs or {})))


def test_wrappers_run_as_written_where_a_whole_graph_is_asked_for():
    g = torch.compile(lambda x, y: x * 2 + y, fullgraph=True)
    result = g(Boxed(torch.ones(2)), torch.ones(2))
    assert type(result) is Boxed and result.inner.tolist() == [3.0, 3.0]
    assert g(torch.ones(2), torch.ones(2)).tolist() == [3.0, 3.0]


def test_another_program_is_an_error_where_that_is_asked_for():
    f = torch.compile(lambda x, text: x + len(text))
    assert f(torch.ones(1), "a").item() == 2
    with torch._dynamo.config.patch(error_on_recompile=True):
        assert f(torch.ones(1), "a").item() == 2
        with pytest.raises(torch._dynamo.exc.RecompileError, match="Recompiling function .*'ab'"):
            f(torch.ones(1), "ab")
    assert f(torch.ones(1), "ab").item() == 3


def test_results_go_into_tensors_that_are_given():
    def step(x, total):
        square = torch.empty(x.shape[0], x.shape[0])
        for _ in range(2):
            torch.mm(x, x.t(), out=square)
            torch.mul(square, 0.5, out=square)
            given = torch.add(total, square, out=total)
        return square @ x, given is total

    f = torch.compile(step, fullgraph=True)
    for size in (2, 3, 4, 2):
        x, ours, expected = torch.randn(size, 3), torch.ones(size, size), torch.ones(size, size)
        result, same = step(x, expected)
        got, is_given = f(x, ours)
        assert is_given and same and torch.equal(got, result) and torch.equal(ours, expected)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        f(torch.randn(2, 3, requires_grad=True), torch.ones(2, 2))
    negated = torch.compile(lambda x, out: torch.mul(x, -1, out=out), dynamic=True, fullgraph=True)
    assert negated(torch.ones(2, 3), torch.empty(2, 3)).tolist() == [[-1] * 3] * 2
    for other in torch.empty(0), torch.empty(2, 3, dtype=torch.float64):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="another shape or dtype than out has"):
            negated(torch.ones(2, 3), other)


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_a_result_that_is_given_grows_as_it_does_without_compiling(dynamic):
    def drawn(x, out):
        return torch.sigmoid(x, out=out) + torch.randn(out.shape, out=torch.empty(0))

    compiled = torch.compile(drawn, dynamic=dynamic)
    for n, room in [(3, 3), (4, 4), (5, 0), (6, 6), (1, 1), (2, 0)]:
        x, (out, expected) = torch.randn(n), (torch.zeros(room) for _ in range(2))
        torch.manual_seed(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of results that grow
            wanted = drawn(x, expected), torch.rand(1)
            torch.manual_seed(n)
            found = compiled(x, out), torch.rand(1)
        assert torch.equal(out, expected) and all(map(torch.equal, found, wanted))


def test_a_result_that_is_given_has_a_dtype_that_takes_it():
    compiled = torch.compile(lambda x, out: torch.add(x, 0.5, out=out))
    assert compiled(torch.ones(2), torch.zeros(2, dtype=torch.float64)).tolist() == [1.5, 1.5]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        compiled(torch.ones(2), torch.zeros(2, dtype=torch.int64))


@pytest.mark.parametrize(
    "layer", [nn.LSTM(4, 3, 2, batch_first=True), nn.GRU(4, 3, bidirectional=True), nn.RNN(4, 3)], ids=str
)
def test_recurrent_layers_are_one_operator_a_direction(layer):
    compiled, x = torch.compile(layer, fullgraph=True), torch.randn(5, 6, 4)
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            for _ in range(2):
                assert torch.equal(compiled(x)[0], layer(x)[0])
        kinds = [node.kind() for node in compiled._compiled.programs[0].graph.nodes()]
        assert kinds.count("aten::_recurrence") == layer.num_layers * (1 + layer.bidirectional)
    (found,), (expected,) = (torch.autograd.grad(f(x)[0].sum(), layer.weight_ih_l0) for f in (compiled, layer))
    torch.testing.assert_close(found, expected)
    several = torch.compile(lambda x: torch.func.vmap(lambda each: layer(each)[0])(x), fullgraph=True)
    torch.testing.assert_close(several(x.expand(2, 5, 6, 4))[1], layer(x)[0])


@pytest.mark.parametrize(
    "way", [torch.compile, torch.jit.script, lambda f: torch.jit.trace(f, (torch.ones(1, 2, 4, 4),) * 3)]
)
def test_programs_compute_attention_as_eager_does_without_all_scores(way):
    def causal(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    program = way(causal)
    query = torch.randn(1, 8, 1024, 4, requires_grad=True)
    for _ in range(3):  # the first calls watch, and find which way is faster
        program(query, query, query).sum().backward()
    torch.memory.reset_peak()
    start = torch.memory.stats()["in_use"]
    result = program(query, query, query)
    result.sum().backward()
    assert torch.memory.stats()["peak_in_use"] - start < 8 * 1024 * 1024 * 4 / 4
    assert torch.equal(result, causal(query, query, query))


def test_backends_see_attention_by_its_name():
    seen = []
    q = torch.randn(2, 2, 5, 4)
    torch.compile(F.scaled_dot_product_attention, backend=lambda module, _: seen.append(module) or module)(q, q, q)
    assert [n.target for n in seen[0].graph.nodes if n.op == "call_function"] == [
        torch.ops.aten.scaled_dot_product_attention
    ]


class Checked(nn.Module):
    """A layer with a ``__call__`` of its own around that of ``nn.Module``."""

    def __call__(self, x, by=1.0):
        if x.dim() == 0:
            raise ValueError("a number")
        try:
            return super().__call__(x, by=by) + 1
        except IndexError:
            return x

    def forward(self, x, by):
        return x * by


@pytest.mark.parametrize("hooks", [0, 1])
def test_a_call_of_a_modules_own_goes_on_to_forward_between_the_hooks(hooks):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Checked()

        def forward(self, x):
            return self.layer(x, by=3.0) * 2

    net = Net()
    for _ in range(hooks):
        net.layer.register_forward_hook(lambda module, args, output: output + 100)
    compiled = torch.compile(net, fullgraph=True)
    x = torch.ones(2, requires_grad=True)
    for _ in range(2):
        assert compiled(x).tolist() == net(x).tolist() == [8 + 200 * hooks] * 2
    net.layer.register_forward_hook(lambda module, args, output: output - 1)
    assert compiled(x).tolist() == net(x).tolist() == [6 + 200 * hooks] * 2
    with pytest.raises(ValueError, match="a number"):
        compiled(torch.tensor(1.0))


def test_a_call_of_a_modules_own_runs_once_where_its_hooks_are_not_compiled():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Checked()

        def forward(self, x):
            return self.layer(x, by=3.0).sum()

    net, seen = Net(), []
    net.layer.register_full_backward_hook(lambda module, *gradients: seen.append(module))
    x = torch.ones(2, requires_grad=True)
    total = torch.compile(net)(x)
    total.backward()
    assert total.item() == 8 and x.grad.tolist() == [3, 3] and seen == [net.layer]
