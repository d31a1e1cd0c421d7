"""Backends of ``torch.compile``: what they get, and by which names they go."""

import re

import compile_cases
import pytest
import torch
from compiling import agree, deep_equal, programs_run, run  # noqa: F401  (a fixture of every test)


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


def test_a_backend_of_ones_own_gets_one_graph_for_sizes_that_are_said_to_change():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    def f(x):
        return torch.cat([x.view(x.shape[0] * 2, -1), x.new_zeros(x.size(0) + 1, x.shape[1] // 2)]) + x.shape[0] % 3

    g = torch.compile(f, backend=backend, dynamic=True)
    for n in (2, 3, 5, 9):
        x = torch.arange(4.0 * n).view(n, 4)
        assert torch.equal(g(x), f(x))
    assert len(graphs) == 1
    targets = {str(node.target) for node in graphs[0].graph.nodes}
    assert "<built-in function mul>" in targets

    graphs.clear()
    g, x = torch.compile(lambda x: x * 2, backend=backend), torch.ones(3, 2)
    torch._dynamo.mark_dynamic(x, 0)
    for each in (x, torch.ones(5, 2), torch.ones(6, 2)):
        assert torch.equal(g(each), each * 2)
    assert len(graphs) == 1


def _size(inputs):
    return next(x for x in inputs if isinstance(x, torch.Tensor)).shape[0]


def _off(module, holds):
    """The module's result where something holds for a call, and wrong by 100 elsewhere."""
    return lambda *inputs: tuple(r + (0 if holds(_size(inputs)) else 100) for r in module(*inputs))


def takes_any(module, inputs):
    return module


def looks_at_a_size(module, inputs):
    first = int(_size(inputs))
    return _off(module, lambda n: n == first)


def keeps_a_comparison(module, inputs):
    is_big = _size(inputs) > 4
    return _off(module, lambda n: (n > 4) == is_big)


def takes_a_length(module, inputs):
    first = len(next(x for x in inputs if isinstance(x, torch.Tensor)))
    return _off(module, lambda n: n == first)


def runs_the_examples(module, inputs):
    shape = module(*inputs)[0].shape
    return lambda *given: tuple(r.reshape(shape) for r in module(*given))


def takes_no_sizes(module, inputs):
    if any(not isinstance(x, torch.Tensor) for x in inputs):
        raise ValueError("sizes")
    return module


@pytest.mark.parametrize(
    ("backend", "programs"),
    [
        (takes_any, 1),
        *(
            (each, 4)
            for each in (looks_at_a_size, keeps_a_comparison, takes_a_length, runs_the_examples, takes_no_sizes)
        ),
    ],
)
def test_the_second_size_makes_a_program_for_all_unless_the_backend_looks_at_it(backend, programs):
    made = []

    def noting(module, inputs):
        made.append(inputs)
        return backend(module, inputs)

    compiled = torch.compile(lambda x: x * x.shape[0], backend=noting)
    for n in (4, 5, 7, 4, 9, 5):
        x = torch.arange(2.0 * n).reshape(n, 2)
        assert torch.equal(compiled(x), x * n)
    sizes = [str(_size(each)) for each in made]
    assert sizes[:2] == ["4", "s0"] and len(sizes) == programs + 1  # that of the second size is tried once


def test_a_program_for_all_sizes_has_gradients_with_a_backend_of_ones_own():
    net, made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 2)), []
    compiled = torch.compile(net, backend=lambda module, inputs: made.append(inputs) or module)
    for n in (4, 5, 8):
        x = torch.randn(n, 3)
        grads = [torch.autograd.grad(f(x).square().sum(), list(net.parameters())) for f in (compiled, net)]
        assert all(map(torch.equal, *grads))
    assert len(made) == 2


def test_the_backend_of_those_that_name_none_can_be_chosen():
    graphs = []

    def counting(module, example):
        graphs.append(module)
        return module.forward

    torch.compiler.set_default_backend(counting)
    try:
        assert torch.compiler.get_default_backend() is counting
        assert torch.compile(lambda x: x.sin() + 1)(torch.zeros(2)).tolist() == [1, 1] and len(graphs) == 1
        torch.compile(lambda x: x.cos() + 1, backend="eager")(torch.zeros(2))
        assert len(graphs) == 1
    finally:
        torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"
    torch.compile(lambda x: x.sin() - 1)(torch.zeros(2))
    assert len(graphs) == 1
    with pytest.raises(TypeError, match="must be a string or callable, got <class 'int'>"):
        torch.compiler.set_default_backend(3)


def test_suppressed_errors_leave_the_function_as_it_was_written():
    def fails(gm, example_inputs):
        raise ValueError("no")

    compiled = torch.compile(lambda x: x + 1, backend=fails)
    with torch._dynamo.config.patch(suppress_errors=True):
        assert compiled(torch.ones(1)).item() == 2
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no"):
        torch.compile(lambda x: x + 2, backend=fails)(torch.ones(1))


def test_strided_tensors_are_made_for_tests():
    made = torch._dynamo.testing.rand_strided((2, 3), (1, 4), extra_size=2)
    assert made.shape == (2, 3) and made.stride() == (1, 4) and made.untyped_storage().nbytes() == 4 * 12


def test_nodes_tell_what_their_tensors_look_like_and_keep_none():
    graphs = []
    layer = torch.nn.Linear(3, 4, dtype=torch.float64)

    def f(x):
        return layer(x).T.split(3)[1]

    x = torch.ones(2, 3, dtype=torch.float64)
    torch.compile(f, backend=lambda g, x: graphs.append(g) or g.forward)(x)
    nodes = [node for node in graphs[0].graph.nodes if node.op != "output" and "example_value" in node.meta]
    values = [node.meta["example_value"] for node in nodes]
    assert all(type(value) is torch._subclasses.FakeTensor for value in values)
    assert [(tuple(v.shape), v.requires_grad) for v in values[:3]] == [((2, 3), False), ((4, 3), True), ((4,), True)]
    last = values[-1]
    assert last.shape == (1, 2) and last.stride() == f(x).stride() and last.dtype is torch.float64


def test_nodes_of_inputs_whose_sizes_may_change_have_symbolic_ones():
    graphs = []

    def backend(module, examples):
        graphs.append((module, examples))
        return module.forward

    compiled = torch.compile(lambda x, y: x @ y + x.shape[0], backend=backend, dynamic=True, fullgraph=True)
    for n in (4, 5):
        assert compiled(torch.ones(n, 3), torch.ones(3, n)).shape == (n, n)
    ((module, examples),) = graphs
    nodes = module.graph.find_nodes(op="placeholder")
    assert [str(x) if isinstance(x, torch.SymInt) else tuple(x.shape) for x in examples] == ["s0", "s1", (4, 3), (3, 4)]
    assert [int(x) for x in examples[:2]] == [4, 3] and [node.name for node in nodes] == ["s0", "s1", "x0", "x1"]
    said = [str(tuple(node.meta["example_value"].shape)) for node in nodes[2:]]
    first, second = (re.findall(r"s\d+", text) for text in said)
    assert first[0] == second[-1], "a size that two inputs share has one name"


@pytest.mark.parametrize("way", ["called", "interpreted", "traced", "ahead"])
def test_a_graph_with_sizes_among_its_inputs_is_one_for_all(way):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch.fx.experimental.proxy_tensor import make_fx

    graphs = []

    def backend(module, examples):
        graphs.append(module)
        module(*examples)
        if way == "interpreted":
            return lambda *inputs: torch.fx.Interpreter(module).run(*inputs)
        return make_fx(module)(*examples) if way == "traced" else module.forward

    def f(x, y):
        return (x @ y) * y.shape[1] + torch.full((x.shape[0],), x.shape[0] // 2), x.size(0)

    chosen = aot_autograd(fw_compiler=lambda module, examples: make_boxed_func(module.forward))
    compiled = torch.compile(f, backend=chosen if way == "ahead" else backend, dynamic=True, fullgraph=True)
    for n in (4, 5, 7):
        x, y = torch.randn(n, 3, requires_grad=way != "traced"), torch.randn(3, n)
        (out, size), (expected, _) = compiled(x, y), f(x, y)
        torch.testing.assert_close(out, expected)
        assert size == n and type(size) is int
        if way != "traced":
            torch.testing.assert_close(torch.autograd.grad(out.sum(), x), torch.autograd.grad(expected.sum(), x))
    assert len(graphs) == (way != "ahead")


def test_sizes_that_are_said_to_change_come_before_the_first_tensor_that_has_them():
    seen = []

    def backend(module, examples):
        seen.append([str(e) if isinstance(e, torch.SymInt) else tuple(e.shape) for e in examples])
        return module.forward

    compiled = torch.compile(lambda x, y: x + y.sum() * x.shape[0], backend=backend)
    for n in (4, 6):
        x, y = torch.ones(n, 3), torch.ones(2, n + 1)
        torch._dynamo.mark_dynamic(x, 0)
        torch._dynamo.mark_dynamic(y, 1)
        assert torch.equal(compiled(x, y), x + y.sum() * n)
    assert seen == [["s0", (4, 3), "s1", (2, 5)]]


@pytest.mark.parametrize("name", ["save_cache_artifacts", "load_cache_artifacts", "load_compiled_function"])
def test_caches_on_disk_say_that_there_are_none(name):
    with pytest.raises(NotImplementedError, match=rf"torch.compiler.{name}: programs are not kept on disk"):
        getattr(torch.compiler, name)()
