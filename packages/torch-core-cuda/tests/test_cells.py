"""Steps of LSTM and GRU on CUDA are one kernel each way, with the numbers of the operators that they stand for."""

import pytest
import torch
from torch._cuda import _native, cells
from torch._seams import operator

nn = pytest.importorskip("torch.nn")
autograd = pytest.importorskip("torch.autograd")


def numbers(shape, dtype=torch.float64, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype, near", [(torch.float64, 1e-12), (torch.float32, 2e-5), (torch.float16, 1e-2)])
@pytest.mark.parametrize(
    "kind, more", [(nn.LSTM, {}), (nn.LSTM, {"proj_size": 2, "bidirectional": True}), (nn.GRU, {"num_layers": 2})]
)
def test_layers_and_their_gradients_are_those_of_the_cpu(kind, more, dtype, near):
    torch.manual_seed(0)
    here = kind(3, 4, **more).double()
    there = kind(3, 4, **more).to("cuda", dtype)
    there.load_state_dict({k: v.to(dtype) for k, v in here.state_dict().items()})
    x = numbers((5, 2, 3))
    y, z = x.requires_grad_(), x.detach().to("cuda", dtype).requires_grad_()
    for layer, t in ((here, y), (there, z)):
        output, state = layer(t)
        total = sum((s * s).sum() for s in (state if isinstance(state, tuple) else (state,)))
        (output.sum() + total).backward()
    pairs = [(y.grad, z.grad), *((p.grad, q.grad) for p, q in zip(here.parameters(), there.parameters(), strict=True))]
    for a, b in pairs:
        assert (b.cpu().double() - a).abs().max() <= near * max(1.0, a.abs().max().item())


@pytest.mark.parametrize("kind, form", [(nn.LSTM, {}), (nn.GRU, {}), (nn.RNN, {"nonlinearity": "relu"})])
@pytest.mark.parametrize("lengths", [(5, 4, 4), (7, 2, 1)])
def test_packed_sequences(kind, form, lengths):
    torch.manual_seed(0)
    here = kind(3, 4, bidirectional=True, **form)
    there = kind(3, 4, bidirectional=True, **form).cuda()
    there.load_state_dict(here.state_dict())
    packed, found = nn.utils.rnn.pack_sequence([numbers((n, 3), torch.float32, n) for n in lengths]), []
    for layer, given in ((here, packed), (there, packed.to("cuda"))):
        output, last = layer(given)
        states = last if kind is nn.LSTM else (last,)
        total = output.data.square().sum() + sum(s.sin().sum() for s in states)
        found.append([output.data, *states, *torch.autograd.grad(total, list(layer.parameters()))])
    for a, b in zip(*found, strict=True):
        assert torch.allclose(b.cpu(), a, atol=1e-5)


def test_packed_sequences_are_one_launch_for_all_steps():
    layer = nn.GRU(3, 4).cuda()

    def launches(longest):
        packed = nn.utils.rnn.pack_sequence([torch.ones(longest - i, 3) for i in range(3)]).to("cuda")
        with torch.no_grad():
            layer(packed)
            before = _native.counts()["launches"]
            layer(packed)
        return _native.counts()["launches"] - before

    assert launches(30) == launches(6)


def test_a_step_is_one_launch_and_two_products():
    x, state = numbers((2, 3), torch.float32).cuda(), numbers((2, 4), torch.float32, 1).cuda()
    for cell, hx in ((nn.LSTMCell(3, 4).cuda(), (state, state)), (nn.GRUCell(3, 4).cuda(), state)):
        cell(x, hx)
        before = _native.counts()["launches"]
        torch.nn.functional.linear(x, cell.weight_ih, cell.bias_ih)
        product = _native.counts()["launches"] - before
        before = _native.counts()["launches"]
        cell(x, hx)
        assert _native.counts()["launches"] - before == 2 * product + 1


@pytest.mark.parametrize("name, gates", [("lstm_cell", 4), ("gru_cell", 3)])
def test_derivatives_to_the_second_order(name, gates):
    operator = getattr(torch.ops.torch_cuda, name)
    given = [numbers((2, n), seed=i).cuda().requires_grad_() for i, n in enumerate((gates * 3, gates * 3, 3))]

    def function(*tensors):
        return operator(*tensors)[: 2 if name == "lstm_cell" else 1]

    assert autograd.gradcheck(function, given)
    assert autograd.gradgradcheck(function, given)


def test_one_of_the_two_results_may_be_used_alone():
    given = [numbers((2, n), torch.float32, i).cuda().requires_grad_() for i, n in enumerate((12, 12, 3))]
    for which in (0, 1):
        found = torch.autograd.grad(cells.lstm_step(*given)[which].sum(), given)
        wanted = torch.autograd.grad(cells.composed_lstm(*given)[which].sum(), given)
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, wanted, strict=True))


def test_what_does_not_fit_is_told():
    x, c = torch.ones(2, 12, device="cuda"), torch.ones(2, 3, device="cuda")
    assert cells.lstm_step(x, x, c.half()) is None and cells.gru_step(x.int(), x.int(), c.int()) is None
    with pytest.raises(RuntimeError, match=r"gates of the state must be torch.float32 of shape \(2, 12\)"):
        torch.ops.torch_cuda.lstm_cell(x, x[:, :9], c)
    with pytest.raises(RuntimeError, match=r"gates of the input must be torch.float32 of shape \(2, 9\)"):
        torch.ops.torch_cuda.gru_cell(x, x[:, :9], c)


LAYERS = [(nn.LSTM, {}), (nn.GRU, {}), (nn.RNN, {}), (nn.RNN, {"nonlinearity": "relu"})]


@pytest.mark.parametrize("dtype, near", [(torch.float64, 1e-12), (torch.float32, 2e-5), (torch.bfloat16, 6e-2)])
@pytest.mark.parametrize("more", [{}, {"bidirectional": True, "bias": False}, {"batch_first": True}])
@pytest.mark.parametrize("kind, form", LAYERS)
def test_a_sequence_and_its_gradients_are_those_of_the_cpu(kind, form, more, dtype, near):
    _native.configure(order=3, lazy=True)
    torch.manual_seed(0)
    here, there = kind(3, 5, **form, **more).double(), kind(3, 5, **form, **more).to("cuda", dtype)
    there.load_state_dict({k: v.to(dtype) for k, v in here.state_dict().items()})
    x, first = numbers((6, 7, 3)), numbers((2 if "bidirectional" in more else 1, 6 if "batch_first" in more else 7, 5))
    first = (first, first * 0.5) if kind is nn.LSTM else (first,)
    found = []
    for layer, where in ((here, {}), (there, {"device": "cuda", "dtype": dtype})):
        given = [t.detach().to(**where).requires_grad_() if where else t.clone().requires_grad_() for t in (x, *first)]
        output, state = layer(given[0], tuple(given[1:]) if kind is nn.LSTM else given[1])
        states = state if isinstance(state, tuple) else (state,)
        total = output.square().sum() + sum((s * (i + 2)).sum() for i, s in enumerate(states))
        found.append([output, *states, *torch.autograd.grad(total, [*given, *layer.parameters()])])
    for a, b in zip(*found, strict=True):
        assert b.dtype == dtype and b.shape == a.shape
        assert (b.detach().cpu().double() - a).abs().max() <= near * max(1.0, a.abs().max().item())


@pytest.mark.parametrize("kind, form", LAYERS)
def test_a_sequence_is_one_launch_beside_the_products_of_the_input(kind, form):
    layer = kind(4, 6, **form).cuda()

    def launches(steps):
        x = torch.ones(steps, 5, 4, device="cuda")
        with torch.no_grad():
            layer(x)
            before = _native.counts()["launches"]
            layer(x)
        return _native.counts()["launches"] - before

    assert launches(3) == launches(30)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind, gates", [("LSTM", 4), ("GRU", 3), ("RNN_TANH", 1), ("RNN_RELU", 1)])
def test_derivatives_of_sequences_to_the_second_order(kind, gates, reverse):
    def run(x, h, w, b, *cell):
        out, last, *_ = operator("_recurrence")(x, h, *(cell or (None,)), w, b, kind, reverse, True)
        return (out, last) if cell else out

    shapes = [(3, 2, gates * 2), (2, 2), (gates * 2, 2), (gates * 2,), *([(2, 2)] if kind == "LSTM" else [])]
    given = [numbers(s, seed=i).cuda().requires_grad_() for i, s in enumerate(shapes)]
    assert autograd.gradcheck(run, given)
    assert autograd.gradgradcheck(run, given)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("size", [3, 180])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind, gates", [("LSTM", 4), ("GRU", 3), ("RNN_TANH", 1), ("RNN_RELU", 1)])
def test_the_operator_gives_what_the_cpu_does_whole_and_step_by_step(kind, gates, reverse, size, keep):
    _native.configure(order=5, lazy=True)
    shapes = [(4, 6, gates * size), (6, size), (6, size), (gates * size, size), (gates * size,)]
    given = [numbers(s, seed=i) / size**0.5 for i, s in enumerate(shapes)]
    if kind != "LSTM":
        given[2] = None
    there = [t if t is None else t.cuda() for t in given]
    before = _native.counts()["launches"]
    found = operator("_recurrence")(*there, kind, reverse, keep)
    launches = _native.counts()["launches"] - before
    assert (launches == 1) == (size == 3)
    wanted = operator("_recurrence")(*given, kind, reverse, keep)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and torch.allclose(a.cpu(), b, atol=1e-12)
    if keep:
        for grads in ([0], [1], [0, 1]) if kind == "LSTM" else ([0],):
            of = [wanted[i] if i in grads else None for i in (0, 1)]
            onto = [g if g is None else g.cuda() for g in of]
            wanted_grads = operator("_recurrence_backward")(*of, given[3], *wanted[2:], kind, reverse)
            found_grads = operator("_recurrence_backward")(*onto, there[3], *found[2:], kind, reverse)
            for a, b in zip(found_grads, wanted_grads, strict=True):
                assert a.shape == b.shape and torch.allclose(a.cpu(), b, atol=1e-11)


@pytest.mark.parametrize("kind, form", LAYERS)
def test_a_step_of_a_layer_without_room_is_a_product_and_a_launch(kind, form):
    layer = kind(2, 300, **form).cuda()

    def launches(steps):
        x = torch.ones(steps, 5, 2, device="cuda")
        with torch.no_grad():
            layer(x)
            before = _native.counts()["launches"]
            layer(x)
        return _native.counts()["launches"] - before

    assert launches(5) - launches(3) == 2 * 2


def test_nothing_is_kept_for_a_gradient_that_nobody_asks_for():
    layer, x = nn.LSTM(4, 8).cuda(), torch.ones(64, 8, 4, device="cuda")

    def peak():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        layer(x)
        return torch.cuda.max_memory_allocated() - before

    kept = peak()
    with torch.no_grad():
        assert peak() < kept - 64 * 8 * 8 * 5 * 4  # four gates and a cell


def test_a_sequence_says_what_does_not_fit():
    x, h, w, b = (torch.ones(s, device="cuda") for s in ((3, 2, 9), (2, 3), (9, 3), (9,)))
    with pytest.raises(RuntimeError, match=r"_recurrence: expected weight of size \(9, 3\), got \(3, 9\)"):
        operator("_recurrence")(x, h, None, w.t(), b, "GRU", False, False)
    with pytest.raises(RuntimeError, match=r"_recurrence: .* on cuda:0 and \(2, 3\) torch.float32 on cpu"):
        operator("_recurrence")(x, h.cpu(), None, w, b, "GRU", False, False)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_tangents_go_through_a_sequence(kind):
    forward = pytest.importorskip("torch.autograd.forward_ad")
    layer, x, t = kind(2, 3).double().cuda(), numbers((3, 2, 2)).cuda(), numbers((3, 2, 2), seed=1).cuda()
    with forward.dual_level():
        found = forward.unpack_dual(layer(forward.make_dual(x, t))[0]).tangent
    step = 1e-5
    wanted = (layer(x + step * t)[0] - layer(x - step * t)[0]) / (2 * step)
    assert torch.allclose(found, wanted, atol=1e-8)
