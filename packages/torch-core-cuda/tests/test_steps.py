"""Steps of optimizers over many tensors at once: the numbers of the operators one by one, in a launch for 48 tensors."""

import copy

import pytest
import torch
from test_devices import run
from torch._cuda import _native, steps

optim = pytest.importorskip("torch.optim")

SHAPES = [(3,), (5, 7), (33, 65), (2, 3, 4, 5), (1,), (0, 4)] * 10
ALGORITHMS = [
    (optim.SGD, {"lr": 0.1}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.2}),
    (optim.Adam, {"lr": 0.1}),
    (optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    (optim.AdamW, {"lr": 0.01}),
    (optim.AdamW, {"lr": 0.01, "amsgrad": True, "maximize": True, "betas": (0.8, 0.99)}),
    (optim.AdamW, {"lr": 0.01, "capturable": True}),
]
#: what follows SGD, Adam and AdamW, and the most launches of a step where each operator of the update is one for all tensors
MORE = [
    (optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, 8),
    (optim.Adagrad, {"lr": 0.1, "initial_accumulator_value": 0.5, "maximize": True}, 8),
    (optim.RMSprop, {"lr": 0.1, "momentum": 0.9, "centered": True}, 12),
    (optim.RMSprop, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, 12),
    (optim.RMSprop, {"lr": 0.1, "centered": True, "maximize": True}, 12),
    (optim.RMSprop, {"lr": 0.1}, 12),
    (optim.Adadelta, {"lr": 0.5, "weight_decay": 0.1}, 14),
    (optim.Adamax, {"lr": 0.1, "maximize": True, "weight_decay": 0.1}, 12),
    (optim.NAdam, {"lr": 0.01, "weight_decay": 0.1}, 14),
    (optim.NAdam, {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}, 14),
    (optim.RAdam, {"lr": 0.01, "weight_decay": 0.1, "betas": (0.5, 0.75)}, 14),
    (optim.RAdam, {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}, 14),
    (optim.ASGD, {"lr": 0.1, "weight_decay": 0.1}, 10),
    (optim.ASGD, {"lr": 0.1, "t0": 1.0, "lambd": 0.1}, 10),
    (optim.Rprop, {"lr": 0.1, "step_sizes": (0.06, 0.12)}, 20),
    (optim.Rprop, {"lr": 0.1, "maximize": True}, 20),
]
ALL = ALGORITHMS + [row[:2] for row in MORE]


def parameters(dtype):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(s, generator=generator).to("cuda", dtype).requires_grad_() for s in SHAPES]


def give_gradients(step, *lists):
    generator = torch.Generator().manual_seed(step)
    for i, tensors in enumerate(zip(*lists, strict=True)):
        gradient = torch.randn(tensors[0].shape, generator=generator).to("cuda", tensors[0].dtype)
        for p in tensors:
            p.grad = None if step == 1 and i % 5 == 0 else gradient.clone()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("algorithm, options", ALL)
def test_a_step_is_that_of_the_operators_to_the_bit(algorithm, options, dtype):
    joined, single = parameters(dtype), parameters(dtype)
    optimizers = algorithm(joined, **options), algorithm(single, foreach=False, **options)
    for step in range(6):  # RAdam is rectified from the sixth on, or sooner
        give_gradients(step, joined, single)
        for optimizer in optimizers:
            optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(joined, single, strict=True))
    states = [o.state_dict()["state"] for o in optimizers]
    assert states[0].keys() == states[1].keys()
    for i, state in states[0].items():
        assert state.keys() == states[1][i].keys()
        assert all(torch.equal(state[k], states[1][i][k].to(state[k].device)) for k in state)


@pytest.mark.parametrize("dtype, near", [(torch.float16, 1e-3), (torch.bfloat16, 8e-3)])
@pytest.mark.parametrize("algorithm, options", ALGORITHMS[:6] + [row[:2] for row in MORE[:-2:2]])
def test_half_types_are_rounded_once(algorithm, options, dtype, near):
    joined, wide = parameters(dtype), [p.detach().float().requires_grad_() for p in parameters(dtype)]
    give_gradients(0, joined)
    for p, q in zip(joined, wide, strict=True):
        q.grad = p.grad.float()
    algorithm(joined, **options).step()
    algorithm(wide, **options).step()
    assert all(torch.allclose(p.float(), q, rtol=near, atol=1e-6) for p, q in zip(joined, wide, strict=True))


@pytest.mark.parametrize("algorithm, options", ALL)
def test_many_tensors_are_two_launches(algorithm, options):
    params = parameters(torch.float32)
    optimizer = algorithm(params, **options)
    for _ in range(2):
        give_gradients(0, params)
        before = _native.counts()["launches"]
        optimizer.step()
    assert _native.counts()["launches"] - before == 2 + bool(
        options.get("capturable")
    )  # of 50 tensors that have elements


@pytest.mark.parametrize("algorithm, options, most", MORE)
def test_without_a_kernel_each_operator_is_a_launch_for_all_tensors(algorithm, options, most, monkeypatch):
    from torch.optim import _joined

    monkeypatch.setattr(_joined, "kernel_of_steps", lambda: None)  # as with parts that are older than it
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        joined, single = parameters(dtype), parameters(dtype)
        optimizers = algorithm(joined, **options), algorithm(single, foreach=False, **options)
        for step in (0, 2, 3):
            give_gradients(step, joined, single)
            before = _native.counts()["launches"]
            optimizers[0].step()
            launches = _native.counts()["launches"] - before
            optimizers[1].step()
        assert all(torch.equal(a, b) for a, b in zip(joined, single, strict=True))
    assert launches <= most


def test_what_a_step_is_told_is_checked():
    p, n = [torch.ones(3, device="cuda")], [[1.0]]
    shared = {"eps": 1e-8, "weight_decay": 0.0, "maximize": 0.0}
    for lists, numbers, options, said in (
        ([p, p], n, shared, "Adagrad.step: expected 3 lists of tensors, got 2"),
        ([p, p, p], [], shared, "Adagrad.step: expected 1 numbers for each parameter, got 0"),
        ([p, p, p], [[1.0, 2.0]], shared, "Adagrad.step: expected 1 numbers, one for each parameter, got 2"),
        (
            [p, p, p],
            [[torch.ones(1, device="cuda")]],
            shared,
            "numbers of parameters must be torch.float64 of one element",
        ),
        ([p, p, [torch.ones(2, device="cuda")]], n, shared, "must have the shape, strides, dtype and device"),
        ([p, p, p], n, {"eps": 1e-8}, "step: the option weight_decay is missing"),
    ):
        with pytest.raises(RuntimeError, match=said):
            steps.step("adagrad", lists, numbers, **options)
    with pytest.raises(RuntimeError, match="step: there is no kernel for adam"):
        steps.step("adam", [p, p], [])


def test_counting_steps_on_the_device_is_one_launch():
    params = parameters(torch.float32)
    optimizer = optim.Adam(params, capturable=True)
    for _ in range(2):
        give_gradients(0, params)
        before = _native.counts()["launches"]
        optimizer.step()
    assert _native.counts()["launches"] - before == 3


def test_what_does_not_lie_like_its_parameter_goes_its_own_way():
    params = [torch.ones(4, 4, device="cuda", requires_grad=True) for _ in range(3)]
    plain = copy.deepcopy(params)
    for p, q in zip(params, plain, strict=True):
        p.grad = torch.arange(16.0, device="cuda").reshape(4, 4)
        q.grad = p.grad.clone()
    params[1].grad = params[1].grad.t().contiguous().t()
    optim.SGD(params, lr=0.1, momentum=0.9).step()
    optim.SGD(plain, lr=0.1, momentum=0.9, foreach=False).step()
    assert all(torch.equal(p, q) for p, q in zip(params, plain, strict=True))


def test_writes_are_seen_by_the_graph():
    p = torch.ones(2, device="cuda", requires_grad=True)
    y = (p * p).sum()
    p.grad = torch.ones(2, device="cuda")
    optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


CAPTURED = [
    (optim.Adam, {}),
    (optim.AdamW, {"amsgrad": True}),
    (optim.Adamax, {"weight_decay": 0.1}),
    (optim.NAdam, {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    (optim.RAdam, {}),
    (optim.ASGD, {"t0": 3.0, "weight_decay": 0.1, "lambd": 0.01}),
    (optim.Adagrad, {"lr_decay": 0.1}),
    (optim.Adafactor, {"weight_decay": 0.1}),
    (optim.RMSprop, {"momentum": 0.5}),
    (optim.Adadelta, {}),
    (optim.Rprop, {}),
]
#: of which a graph needs none of the numbers that are counted
UNCOUNTED = (optim.RMSprop, optim.Adadelta, optim.Rprop)


@pytest.mark.parametrize("algorithm, options", CAPTURED)
def test_steps_of_a_graph_that_is_replayed_are_counted_on_the_device(algorithm, options):
    params, plain = ([torch.ones(3, device=device, requires_grad=True)] for device in ("cuda", "cpu"))
    optimizers = algorithm(params, lr=0.1, capturable=True, **options), algorithm(plain, lr=0.1, **options)
    params[0].grad, plain[0].grad = (torch.tensor([2.0, -1.0, 0.5], device=p[0].device) for p in (params, plain))
    for optimizer in optimizers:
        optimizer.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizers[0].step()
    for _ in range(7):
        graph.replay()
        optimizers[1].step()
        assert torch.allclose(params[0].cpu(), plain[0], rtol=1e-5, atol=1e-6)
    for name, value in optimizers[1].state[plain[0]].items():
        if name == "step" and algorithm in UNCOUNTED:
            continue
        assert torch.allclose(optimizers[0].state[params[0]][name].cpu(), value, rtol=1e-5), name


def test_a_graph_replays_adagrad_whose_rate_does_not_fall():
    params, plain = ([torch.ones(3, device=device, requires_grad=True)] for device in ("cuda", "cpu"))
    optimizers = optim.Adagrad(params, lr=0.1, weight_decay=0.1), optim.Adagrad(plain, lr=0.1, weight_decay=0.1)
    params[0].grad, plain[0].grad = (torch.tensor([2.0, -1.0, 0.5], device=p[0].device) for p in (params, plain))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizers[0].step()
    for _ in range(4):
        graph.replay()
        optimizers[1].step()
        assert torch.allclose(params[0].cpu(), plain[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("algorithm, options", CAPTURED)
def test_steps_that_the_device_counts_do_not_wait(algorithm, options):
    w = torch.ones(3, device="cuda", requires_grad=True)
    optimizer, w.grad = algorithm([w], capturable=True, **options), torch.ones(3, device="cuda")
    optimizer.step()
    before = _native.counts()["waits"]
    optimizer.step()
    assert _native.counts()["waits"] == before


@pytest.mark.parametrize("algorithm, options", [row for row in CAPTURED if row[0] not in UNCOUNTED])
def test_a_count_that_is_loaded_goes_where_it_is_counted(algorithm, options):
    w, v = torch.ones(3, device="cuda", requires_grad=True), torch.ones(3, requires_grad=True)
    w.grad, v.grad = torch.ones(3, device="cuda"), torch.ones(3)
    saved, loaded = algorithm([v], **options), algorithm([w], capturable=True, **options)
    saved.step()
    state = saved.state_dict()
    state["param_groups"][0]["capturable"] = True
    loaded.load_state_dict(state)
    assert loaded.state[w]["step"].is_cuda and loaded.state[w]["step"].item() == 1
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        w.copy_(v)
    with torch.cuda.graph(graph):
        loaded.step()
    graph.replay()
    saved.step()
    assert torch.allclose(w.cpu(), v, rtol=1e-5)


def test_a_graph_cannot_hold_a_step_that_the_cpu_counts():
    def captured(algorithm, begin=None, **options):
        w = torch.ones(3, device="cuda", requires_grad=True)
        w.grad = torch.ones(3, device="cuda")
        optimizer = algorithm([w], **options)
        if begin:
            optimizer.step()
            optimizer.param_groups[0].update(begin)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            optimizer.step()
        return True

    with pytest.raises(RuntimeError, match="Adam.step: attempting CUDA graph capture .* capturable=False; make"):
        captured(optim.Adam)
    for algorithm, options in ((optim.Adagrad, {"lr_decay": 0.1}), (optim.Adafactor, {})):
        with pytest.raises(RuntimeError, match=f"{algorithm.__name__}.step: attempting CUDA graph capture"):
            captured(algorithm, **options)

    class Counting(optim.Optimizer):
        _has_count = True

        def _update(self, p, g, state, group):
            p.sub_(g)

    with pytest.raises(NotImplementedError, match="Counting.step: the number of steps is counted on the CPU"):
        captured(Counting, defaults={})
    for algorithm in (optim.Adam, optim.NAdam):
        with pytest.raises(
            RuntimeError, match=r"steps of a parameter of size \(3,\) was begun on the CPU.*capturable=True"
        ):
            captured(algorithm, {"capturable": True})
    assert captured(optim.RMSprop, capturable=True) and captured(optim.SGD, lr=0.1) and captured(optim.Adagrad)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_functions_themselves_take_scaled_gradients_and_skip_a_step(device):
    def lists():
        return [[torch.full((5,), x, device=device)] for x in (1.0, 8.0, 0.0, 0.0)]

    options = {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.1,
        "eps": 1e-8,
        "amsgrad": False,
        "maximize": False,
    }
    one = torch.tensor(1.0, device=device)
    scale, found = torch.tensor([4.0], device=device), torch.tensor([0.0], device=device)
    p, g, m, v = lists()
    torch._fused_adamw_(p, g, m, v, [], [one], **options, grad_scale=scale, found_inf=found)
    assert p[0].tolist() == pytest.approx([1 - 0.01 - 0.1] * 5, rel=1e-6) and g[0].tolist() == [2.0] * 5
    p, g, m, v = lists()
    torch._fused_adam_(p, g, m, v, [], [one], **options, grad_scale=scale, found_inf=one.reshape(1))
    assert p[0].tolist() == [1.0] * 5 and m[0].tolist() == [0.0] * 5
    p, g, b, _ = lists()
    more = {"weight_decay": 0.0, "momentum": 0.5, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False}
    torch._fused_sgd_(p, g, b, **more, is_first_step=True, grad_scale=scale, found_inf=found)
    assert b[0].tolist() == [2.0] * 5 and p[0].tolist() == pytest.approx([0.8] * 5)


def test_lists_that_do_not_fit_are_told():
    p = [torch.ones(3, device="cuda")]
    options = {"weight_decay": 0, "momentum": 0, "lr": 0.1, "dampening": 0, "nesterov": False, "maximize": False, "is_first_step": True}  # fmt: skip
    with pytest.raises(RuntimeError, match="_fused_sgd_: expected 1 gradients, one for each parameter, got 2"):
        torch._fused_sgd_(p, p * 2, [], **options)
    for wrong in (torch.ones(4, device="cuda"), torch.ones(3), torch.ones(3, device="cuda").half()):
        with pytest.raises(RuntimeError, match="must have the shape, strides, dtype and device of their parameter"):
            torch._fused_sgd_(p, [wrong], [], **options)
    with pytest.raises(RuntimeError, match="without gaps"):
        torch._fused_sgd_([torch.ones(6, device="cuda")[::2]], [torch.ones(6, device="cuda")[::2]], [], **options)
    assert p[0].tolist() == [1.0] * 3


def test_a_first_step_without_memory_leaves_no_state_that_is_half_made():
    said = run(
        """
import os
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
import torch
from torch._cuda import _native, steps
for algorithm, options in ((torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {"amsgrad": True}), (torch.optim.RMSprop, {})):
    steps = []
    for fails_at in (None, *range(20)):
        params = [torch.ones(4, device="cuda", requires_grad=True) for _ in range(3)]
        for p in params:
            p.grad = p.detach() * 2
        optimizer = algorithm(params, lr=0.1, **options)
        try:
            _native.configure(allocations_to_fail=-1 if fails_at is None else fails_at)
            optimizer.step()
            failed = False
        except torch.cuda.OutOfMemoryError:
            failed = True
        _native.configure()
        untouched = all(p.detach().eq(1).all() for p in params)
        if failed:
            optimizer.step()
        if fails_at is None:
            expected = [p.tolist() for p in params]
        elif failed and untouched:
            steps.append([p.tolist() for p in params] == expected)
    print(algorithm.__name__, len(steps) >= 2 and all(steps))
"""
    )
    assert said.split("\n")[:3] == ["SGD True", "Adam True", "RMSprop True"]
