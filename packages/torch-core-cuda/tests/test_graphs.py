"""Graphs: what is recorded does not run until it is launched, on the memory of the capture, with numbers drawn anew."""

import pytest
import torch
from test_devices import run
from torch import cuda
from torch._cuda import _native


def test_a_graph_runs_when_it_is_launched_and_on_what_is_there_then():
    _native.configure(lazy=True)
    x = torch.ones(4, device="cuda")
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        assert cuda.is_current_stream_capturing() and cuda.current_stream().is_capturing()
        y = (x * 2).sum(0, keepdim=True) + x
    assert not cuda.is_current_stream_capturing()
    launches = _native.counts()["launches"]
    for value in (1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [value * 9] * 4
    assert _native.counts()["launches"] - launches == 2 + 2  # the graph's and fill_'s
    graph.reset()
    with pytest.raises(RuntimeError, match="nothing was captured"):
        graph.replay()


def test_draws_of_a_graph_are_those_that_the_generator_would_give():
    torch.manual_seed(5)
    graph, x = cuda.CUDAGraph(), torch.zeros(40, device="cuda")
    with cuda.graph(graph):
        torch.rand(3, device="cuda")
        y = x.uniform_() * 1
    graph.replay()
    first = y.tolist()
    graph.replay()
    second = y.tolist()
    after = torch.rand(2, device="cuda").tolist()
    torch.manual_seed(5)
    wanted = []
    for _ in range(2):
        torch.rand(3, device="cuda")
        wanted.append(torch.rand(40, device="cuda").tolist())
    assert [first, second] == wanted and first != second
    assert after == torch.rand(2, device="cuda").tolist()
    other = cuda.CUDAGraph()
    generator = torch.Generator("cuda").manual_seed(1)
    with pytest.raises(RuntimeError, match="draws only from the device's own generator"), cuda.graph(other):
        torch.rand(3, device="cuda", generator=generator)


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.poisson(x),
        lambda x: torch.binomial(x, torch.full_like(x, 0.3)),
        lambda x: torch._C._operator("_standard_gamma")(x),
        lambda x: torch._C._operator("_sample_dirichlet")(x.reshape(2, -1)),
    ],
    ids=["poisson", "binomial", "gamma", "dirichlet"],
)
def test_draws_by_parameters_go_on_with_the_generator(draw):
    x = torch.full((34,), 20.0, device="cuda")
    torch.manual_seed(5)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        torch.rand(3, device="cuda")
        y = draw(x) * 1
    found = []
    for _ in range(2):
        graph.replay()
        found.append(y.tolist())
    after = torch.rand(2, device="cuda").tolist()
    torch.manual_seed(5)
    for known in found:
        torch.rand(3, device="cuda")
        assert draw(x).tolist() == known
    assert found[0] != found[1] and after == torch.rand(2, device="cuda").tolist()


@pytest.mark.parametrize("n", [1, 7, 33, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_draws_of_a_graph_are_new_at_each_launch(n, dtype):
    x = torch.zeros(n, device="cuda", dtype=dtype)
    draws = [
        lambda x: x.uniform_(),
        lambda x: x.normal_(),
        lambda x: x.exponential_(),
        lambda x: x.cauchy_(),
        lambda x: x.log_normal_(),
        lambda x: x.geometric_(0.01),
        lambda x: x.random_(),
        lambda x: x.copy_(torch.randint(0, 2**40, (n,), device="cuda")),
        lambda x: x.copy_(torch.randint(0, 1000, (n,), device="cuda")),
        lambda x: x.copy_(torch.rand_like(x)),
    ]
    for draw in draws:
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            draw(x)
        graph.replay()
        first = x.tolist()
        graph.replay()
        second = x.tolist()
        assert first != second and all(v != 0 for v in first[:1])
    for draw in (
        lambda x: x.bernoulli_(0.5),
        lambda x: torch.dropout(x, 0.5, True),
        lambda x: torch.dropout(x.half(), 0.5, True),
    ):
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            draw(x)
        graph.replay()


def test_memory_of_a_graph_is_given_to_nobody_else():
    _native.configure(lazy=True)
    graph, x = cuda.CUDAGraph(), torch.arange(1000.0, device="cuda")
    with cuda.graph(graph):
        between = x * 2
        y = between + 1
        del between
    fill = [torch.full((1000,), 7.0, device="cuda") for _ in range(20)]
    graph.replay()
    assert y[3].item() == 7 and all(bool((f == 7).all()) for f in fill)
    pools = {s["segment_pool_id"] for s in cuda.memory_snapshot()}
    assert graph.pool() in pools
    del y
    graph.reset()
    cuda.empty_cache()
    assert {s["segment_pool_id"] for s in cuda.memory_snapshot()} == {(0, 0)}


def test_graphs_share_a_pool_on_request():
    a, b, x = cuda.CUDAGraph(), cuda.CUDAGraph(), torch.ones(3, device="cuda")
    pool = cuda.graph_pool_handle()
    with cuda.graph(a, pool=pool):
        y = x + 1
    with cuda.graph(b, pool=a.pool()):
        z = y * 3
    assert a.pool() == b.pool() == pool
    a.replay(), b.replay()
    assert z.tolist() == [6, 6, 6]


def test_streams_join_a_capture_by_events_and_must_come_back():
    graph, x, side = cuda.CUDAGraph(), torch.ones(3, device="cuda"), cuda.Stream()
    with cuda.graph(graph):
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            y = x + 1
        z = x * 10
        cuda.current_stream().wait_stream(side)
        total = y + z
    graph.replay()
    assert total.tolist() == [12, 12, 12]
    lost = cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="unjoined work"), cuda.graph(lost):
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            x + 1
    assert (x + 1).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (lambda x: x.sum().item(), "copy between the CPU and the device waits"),
        (lambda x: x.cpu(), "copy between the CPU and the device waits"),
        (lambda x: x.copy_(torch.ones(3)), "copy between the CPU and the device waits"),
        (lambda x: cuda.synchronize(), "not permitted when stream is capturing"),
    ],
)
def test_what_waits_cannot_be_recorded(what, text):
    graph, x = cuda.CUDAGraph(), torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match=text), cuda.graph(graph):
        what(x)
    _native.reset()
    assert (x + 1).tolist() == [2, 2, 2] and not cuda.is_current_stream_capturing()
    with cuda.graph(graph):
        y = x + 1
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_copies_from_pinned_memory_are_recorded():
    source, graph = torch.ones(3).pin_memory(), cuda.CUDAGraph()
    x = torch.zeros(3, device="cuda")
    with cuda.graph(graph):
        x.copy_(source, non_blocking=True)
        y = x * 2
    source.fill_(4)
    graph.replay()
    assert y.tolist() == [8, 8, 8]


def test_pinned_memory_of_a_capture_is_given_to_nobody_else():
    graph, x = cuda.CUDAGraph(), torch.zeros(3, device="cuda")
    with cuda.graph(graph):
        source = torch.full((3,), 6.0).pin_memory()
        x.copy_(source, non_blocking=True)
        del source
    fill = [torch.zeros(3).pin_memory() for _ in range(10)]
    graph.replay()
    assert x.tolist() == [6, 6, 6] and all(f.tolist() == [0, 0, 0] for f in fill)


def test_mistakes_are_named():
    graph = cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match=r"capture_begin\(\) was not called"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="call capture_begin"):
        graph.pool()
    with pytest.raises(RuntimeError, match="expected capture_error_mode to be one of"), cuda.stream(cuda.Stream()):
        graph.capture_begin(capture_error_mode="strict")
    with pytest.raises(TypeError, match="expected a torch.cuda.CUDAGraph, got int"):
        cuda.graph(3)
    with cuda.graph(graph):
        x = torch.zeros(2, device="cuda")
    with pytest.raises(RuntimeError, match="has been captured"), cuda.stream(cuda.Stream()):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match=r"enable_debug_mode\(\) before the capture"):
        graph.debug_dump("nowhere")
    assert x.shape == (2,)


def test_a_graph_is_written_for_graphviz(tmp_path):
    graph = cuda.CUDAGraph()
    graph.enable_debug_mode()
    with cuda.graph(graph):
        torch.zeros(2, device="cuda") + 1
    graph.debug_dump(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")


def test_a_step_of_training_is_a_graph():
    pytest.importorskip("torch.nn")
    said = run(
        """
        import torch
        from torch import cuda, nn

        def train(graphed):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)).cuda()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            batches = [(torch.randn(6, 4), torch.randn(6, 1)) for _ in range(5)]
            x, y = (t.cuda() for t in batches[0])

            def step():
                optimizer.zero_grad(set_to_none=False)
                loss = nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                return loss

            for p in model.parameters():
                p.grad = torch.zeros_like(p)
            if graphed:
                graph = cuda.CUDAGraph()
                with cuda.graph(graph):
                    loss = step()
            losses = []
            for a, b in batches:
                x.copy_(a), y.copy_(b)
                if graphed:
                    graph.replay()
                else:
                    loss = step()
                losses.append(loss.item())
            return losses, [p.tolist() for p in model.parameters()]

        print(train(True) == train(False))
        """
    )
    assert said == "True\n"


def test_callables_become_graphs_of_forward_and_backward():
    pytest.importorskip("torch.nn")
    said = run(
        """
        import torch
        from torch import cuda, nn
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).cuda()
        plain = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).cuda()
        plain.load_state_dict(model.state_dict())
        graphed = cuda.make_graphed_callables(model, (torch.randn(3, 4, device="cuda", requires_grad=True),))
        for _ in range(3):
            x = torch.randn(3, 4, device="cuda", requires_grad=True)
            z = x.detach().clone().requires_grad_()
            graphed(x).square().sum().backward()
            plain(z).square().sum().backward()
            print(torch.allclose(x.grad, z.grad), all(
                torch.allclose(p.grad, q.grad) for p, q in zip(model.parameters(), plain.parameters())))
        model.eval()
        print(torch.equal(model(torch.ones(7, 4, device="cuda")), plain(torch.ones(7, 4, device="cuda"))))
        try:
            model.train()(torch.ones(7, 4, device="cuda"))
        except RuntimeError as error:
            print("takes tensors of the shape and dtype" in str(error))
        """
    ).splitlines()
    assert said == ["True True"] * 3 + ["True", "True"]


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: 0.5**x,
        lambda x: x ** x[0],
        lambda x: torch.ldexp(x, x),
        lambda x: torch.eye(3, 2, device="cuda") * x[0],
        lambda x: x.index_put_([x > 1], torch.tensor(5.0)),
        lambda x: x.__setitem__(1, 7),
        lambda x: x[::2].copy_(torch.tensor([3.0])),
        lambda x: x * torch.tensor(2.0).to("cuda"),
    ],
)
def test_a_number_of_the_cpu_travels_with_its_launch_and_nobody_waits(compute):
    x = torch.arange(3.0, device="cuda")
    expected = compute(x.clone())
    before = _native.counts()["waits"]
    compute(x.clone())
    assert _native.counts()["waits"] == before
    graph, y = cuda.CUDAGraph(), x.clone()
    with cuda.graph(graph):
        found = compute(y)
    graph.replay()
    assert found is None or torch.equal(found, expected)


def test_one_pinned_number_is_read_when_the_graph_runs():
    here, there, graph = torch.tensor(1.0).pin_memory(), torch.zeros((), device="cuda"), cuda.CUDAGraph()
    with cuda.graph(graph):
        there.copy_(here, non_blocking=True)
    here.fill_(4)
    graph.replay()
    assert there.item() == 4
