"""``torch.compile`` against the function as it is: results, gradients, changes of arguments and of modules, output."""

import copy
import inspect
import pickle
import random
import weakref

import compile_cases
import compile_traps
import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def programs_run():
    """Programs are run even where Python would be faster."""
    with torch._dynamo.config.patch(choose_faster=False):
        yield
    torch.compiler.reset()


def flat(value):
    """Leaves of a result, and what stands around them."""
    if isinstance(value, torch.Tensor):
        return [value.detach().clone(), value.requires_grad, tuple(value.stride()), value.dtype]
    if isinstance(value, dict):
        return [type(value), *(x for k, v in value.items() for x in [k, *flat(v)])]
    if isinstance(value, (list, tuple)):
        return [type(value), *(x for v in value for x in flat(v))]
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        return [type(value).__qualname__, *flat(vars(value))] if not hasattr(value, "name") else [str(value)]
    return [type(value), value]


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())
    return a == b


def agree(a, b):
    a, b = flat(a), flat(b)
    return len(a) == len(b) and all(type(x) is type(y) and same(x, y) for x, y in zip(a, b))


def aliases(args, out):
    """Which tensors of a result and of the arguments are one, or share memory."""
    found = []

    def walk(value):
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            for v in value.values():
                walk(v)
        elif isinstance(value, (list, tuple)):
            for v in value:
                walk(v)

    walk(args)
    walk(out)
    return [[(a is b, a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()) for b in found] for a in found]


def run(name, compiled, mode, capsys):
    """All calls of a case: what came out, what became of the arguments, and what was printed."""
    torch.manual_seed(0)
    make, calls, _ = compile_cases.CASES[name]
    function = make()
    if isinstance(function, nn.Module):
        function.train(mode == "train")
    called = torch.compile(function) if compiled else function
    out = []
    for args in calls():
        with torch.set_grad_enabled(mode == "train"):
            result = called(*args)
        out.append((flat(result), flat(list(args)), aliases(args, result)))
        if mode == "train":
            leaves = [
                v
                for v in (result if isinstance(result, (list, tuple)) else [result])
                if isinstance(v, torch.Tensor) and v.requires_grad
            ]
            if leaves and isinstance(function, nn.Module):
                function.zero_grad()
                sum(v.sum() for v in leaves).backward()
                out.append([p.grad is not None and p.grad.clone() for p in function.parameters()])
    if isinstance(function, nn.Module):
        out.append([b.clone() for b in function.buffers()])
    out.append(torch.rand(1))
    return out, capsys.readouterr().out, called


def deep_equal(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and same(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(deep_equal, a, b))
    return a == b


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", sorted(compile_cases.CASES))
def test_compiled_functions_do_what_the_functions_do(name, mode, capsys):
    torch.compiler.reset()
    expected, printed, _ = run(name, False, mode, capsys)
    found, also, called = run(name, True, mode, capsys)
    assert deep_equal(found, expected)
    assert also == printed
    captured = compile_cases.CASES[name][2]
    if captured is not None:
        compiled = called._compiled
        assert (compiled.reason is None) is captured, compiled.reason


@pytest.mark.parametrize("name", sorted(compile_traps.TRAPS))
def test_traps_are_seen(name):
    def outcomes(compiled):
        torch.manual_seed(0)
        random.seed(0)
        make, calls = compile_traps.TRAPS[name]
        function = make()
        called = torch.compile(function) if compiled else function
        found = []
        for args in calls():
            try:
                found.append((flat(called(*args)), flat(list(args))))
            except Exception as error:
                found.append((type(error), str(error).partition("\n")[0]))
        return found

    assert deep_equal(outcomes(True), outcomes(False))


def test_a_program_is_captured_once_for_calls_that_are_alike():
    compiled = torch.compile(lambda x: x + 1)
    for _ in range(3):
        compiled(torch.randn(3))
    assert compiled._compiled.captures == 1
    compiled(torch.randn(4))
    assert compiled._compiled.captures == 2


def test_globals_are_read_anew():
    space = {"torch": torch, "K": 2}
    f = torch.compile(lambda x: x * compile_cases.SCALE)
    before = compile_cases.SCALE
    try:
        assert f(torch.ones(1)).item() == 2
        compile_cases.SCALE = 5.0
        assert f(torch.ones(1)).item() == 5
        compile_cases.SCALE = 5
        assert f(torch.ones(1, dtype=torch.int64)).dtype == torch.int64
        compile_cases.SCALE = torch.tensor([7.0])
        assert f(torch.ones(1)).item() == 7
    finally:
        compile_cases.SCALE = before
    del space


def test_cells_and_lists_are_read_anew():
    k, many = 1, [1, 2]

    def f(x):
        return x * k + sum(many)

    g = torch.compile(f)
    assert g(torch.ones(1)).item() == 4
    k = 2
    assert g(torch.ones(1)).item() == 5
    many.append(10)
    assert g(torch.ones(1)).item() == 15
    many[0] = 2
    assert g(torch.ones(1)).item() == 16


def test_attributes_of_modules_are_read_anew():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.k, self.inner = 2, nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x) * self.k

    net = Net()
    compiled = torch.compile(net)
    x = torch.randn(1, 2)

    def check():
        assert torch.equal(compiled(x), net(x)) and torch.equal(compiled(x), net(x))

    check()
    net.k = 3
    check()
    net.inner = nn.Linear(2, 2, bias=False)
    check()
    net.inner.weight = nn.Parameter(torch.ones(2, 2))
    check()
    net.inner = nn.Sequential(nn.ReLU(), nn.Dropout(0.5)).eval()
    check()
    net.inner[1].train()
    torch.manual_seed(1)
    a = compiled(x)
    torch.manual_seed(1)
    assert torch.equal(a, net(x))
    net.inner = nn.Identity()
    check()
    handle = net.inner.register_forward_hook(lambda m, a, out: out + 100)
    check()
    handle.remove()
    check()
    net.inner.forward = lambda x: x - 5
    check()


def test_methods_put_into_a_class_later_are_seen():
    class Net(nn.Module):
        def forward(self, x):
            return self.step(x)

        def step(self, x):
            return x + 1

    net = Net()
    compiled = torch.compile(net)
    assert compiled(torch.zeros(1)).item() == 1
    Net.step = lambda self, x: x + 2
    assert compiled(torch.zeros(1)).item() == 2
    net.step = lambda x: x + 3
    assert compiled(torch.zeros(1)).item() == 3


def test_modes_of_gradients_are_part_of_the_key():
    f = torch.compile(lambda x: x * 2)
    x = torch.ones(2, requires_grad=True)
    assert f(x).requires_grad
    with torch.no_grad():
        assert not f(x).requires_grad
    assert f(x).requires_grad
    f(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_autocast_and_default_dtype_are_part_of_the_key():
    f = torch.compile(lambda x: x @ x + torch.ones(2))
    x = torch.ones(2, 2)
    assert f(x).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.compile(lambda x: x @ x)(x).dtype == torch.bfloat16
        expected = x @ x + torch.ones(2)
        assert f(x).dtype == expected.dtype
    torch.set_default_dtype(torch.float64)
    try:
        assert f(x).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert f(x).dtype == torch.float32


def test_fullgraph_names_the_line_that_cannot_be_captured():
    @torch.compile(fullgraph=True)
    def f(x):
        y = x * 2
        return y.sum().item()

    with pytest.raises(torch._dynamo.exc.Unsupported) as error:
        f(torch.ones(2))
    line = inspect.getsourcelines(f._torchdynamo_orig_callable)[1] + 3
    assert f"test_compile.py:{line}" in str(error.value) and "item" in str(error.value)


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
    f = torch.compile(lambda x, n: x * n)
    with pytest.warns(UserWarning, match="recompile_limit"):
        for n in range(12):
            assert f(torch.ones(1), n).item() == n
    assert not f._compiled.programs
    with torch._dynamo.config.patch(recompile_limit=2):
        g = torch.compile(lambda x, n: x * n, fullgraph=True)
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
    f = torch.compile(lambda x, n: x * n)
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


# --- backends ---


def test_a_backend_gets_a_graph_module_and_examples():
    seen = []

    def backend(gm, example_inputs):
        seen.append((gm, example_inputs))
        return gm.forward

    w = torch.randn(3, requires_grad=True)

    @torch.compile(backend=backend)
    def f(x, k):
        a, b = (x * w + k).to(torch.float64).split([1, 2])
        values, _ = torch.max(b, 0)
        with torch.no_grad():
            c = w * 2
        return {"a": a.relu(), "b": values, "c": c + torch.tensor([1.0, 2.0, 3.0])}

    x = torch.randn(3)
    for _ in range(2):
        out = f(x, 2)
        expected = f._torchdynamo_orig_callable(x, 2)
        assert agree(out, expected)
    out["a"].sum().backward()
    assert w.grad is not None
    ((gm, examples),) = seen
    assert isinstance(gm, torch.fx.GraphModule) and [e.shape for e in examples] == [(3,), (3,)]
    assert [n.op for n in gm.graph.nodes][:2] == ["placeholder"] * 2
    assert torch.ops.aten.relu in [n.target for n in gm.graph.nodes]


@pytest.mark.parametrize("name", sorted(n for n, (_, _, captured) in compile_cases.CASES.items() if captured))
def test_graphs_of_fx_compute_the_same(name, capsys):
    expected, _, _ = run(name, False, "eval", capsys)
    real = torch.compile
    torch.compile = lambda f: real(f, backend=lambda gm, inputs: gm)
    try:
        found, _, called = run(name, True, "eval", capsys)
    finally:
        torch.compile = real
    assert deep_equal(found, expected) and called._compiled.reason is None


def test_a_backend_that_fails_is_named():
    def broken(gm, inputs):
        raise KeyError("x")

    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="broken"):
        torch.compile(lambda x: x + 1, backend=broken)(torch.ones(2))


def test_backends_have_names():
    counter = torch._dynamo.testing.CompileCounter()
    torch._dynamo.register_backend(counter, name="counting")
    assert "counting" in torch.compiler.list_backends()
    f = torch.compile(lambda x: x.relu() + 1, backend="counting")
    f(torch.ones(2))
    f(torch.ones(2))
    assert counter.frame_count == 1 and counter.op_count == 2
    for name in ("eager", "aot_eager", "inductor"):
        assert torch.compile(lambda x: x + 1, backend=name)(torch.ones(1)).item() == 2
    with pytest.raises(NotImplementedError, match="openxla"):
        torch.compile(lambda x: x, backend="openxla")
