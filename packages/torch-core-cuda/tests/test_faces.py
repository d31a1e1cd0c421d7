"""Names of torch.cuda that programs use beside kernels: classes, generators, storages, ranges."""

import pytest
import torch
from test_devices import run
from torch import cuda


def test_classes_of_cuda_tensors_are_those_of_the_cpu_there():
    x = cuda.FloatTensor(2, 3)
    assert x.shape == (2, 3) and x.is_cuda and isinstance(x, cuda.FloatTensor)
    assert not isinstance(x, torch.FloatTensor) and not isinstance(x.cpu(), cuda.FloatTensor)
    y = cuda.LongTensor([1, 2])
    assert y.tolist() == [1, 2] and y.device == torch.device("cuda", 0) and y.type() == "torch.cuda.LongTensor"
    assert y.type(cuda.HalfTensor).dtype == torch.float16 and torch.ones(1).type("torch.cuda.DoubleTensor").is_cuda
    assert issubclass(type(cuda.BoolTensor([True])), torch.Tensor) and cuda.ByteTensor().shape == (0,)


def test_storages_of_cuda():
    s = cuda.FloatStorage([1, 2, 3])
    assert s.is_cuda and s.tolist() == [1, 2, 3] and isinstance(s, cuda.FloatStorage)
    assert not isinstance(s, torch.FloatStorage) and not isinstance(s, cuda.LongStorage)
    assert len(cuda.LongStorage(4)) == 4 and cuda.LongStorage(4).device == torch.device("cuda", 0)
    assert isinstance(torch.ones(2, device="cuda").storage(), cuda.FloatStorage)


def test_default_generators_are_those_that_operators_draw_from():
    (generator,) = cuda.default_generators
    assert generator.device == torch.device("cuda", 0)
    torch.manual_seed(11)
    assert generator.initial_seed() == cuda.initial_seed() == 11
    state = generator.get_state()
    x = torch.rand(5, device="cuda")
    assert not torch.equal(generator.get_state(), state) and torch.equal(generator.get_state(), cuda.get_rng_state())
    generator.set_state(state)
    assert torch.equal(torch.rand(5, device="cuda"), x)
    generator.manual_seed(12)
    assert cuda.initial_seed() == 12
    torch.manual_seed(11)
    assert torch.equal(torch.rand(5, device="cuda", generator=generator), x)


def test_states_of_all_devices():
    said = run(
        """
        import torch
        torch.manual_seed(3)
        states = torch.cuda.get_rng_state_all()
        a = [torch.rand(3, device=f"cuda:{i}").tolist() for i in range(2)]
        torch.cuda.set_rng_state_all(states)
        b = [torch.rand(3, device=d, generator=g).tolist() for d, g in enumerate(torch.cuda.default_generators)]
        print(len(states), a == b, [str(g.device) for g in torch.cuda.default_generators])
        torch.cuda.set_rng_state(states[0], "cuda:1")
        print(torch.rand(3, device="cuda:1").tolist() == a[0])
        """,
        "devices=2",
    ).splitlines()
    assert said == ["2 True ['cuda:0', 'cuda:1']", "True"]


def test_a_tensor_keeps_its_memory_for_another_stream():
    from torch._cuda import _native

    _native.configure(lazy=True)
    other, x = cuda.Stream(), torch.ones(1000, device="cuda")
    cuda.synchronize()
    with cuda.stream(other):
        y = x + 1
    x.record_stream(other)
    place = x.data_ptr()
    del x
    assert torch.zeros(1000, device="cuda").data_ptr() != place
    other.synchronize()
    assert y.cpu().tolist() == [2.0] * 1000
    with pytest.raises(TypeError, match="expected a torch.cuda.Stream, got int"):
        y.record_stream(0)
    with pytest.raises(RuntimeError, match="the tensor is on cpu, which has no streams"):
        y.cpu().record_stream(other)


def test_ranges_of_nvtx_are_seen_by_the_profiler():
    profiler = pytest.importorskip("torch.autograd.profiler")
    with profiler.profile() as prof:
        assert (cuda.nvtx.range_push("outer"), cuda.nvtx.range_push("inner")) == (0, 1)
        torch.ones(2, device="cuda") + 1
        assert (cuda.nvtx.range_pop(), cuda.nvtx.range_pop(), cuda.nvtx.range_pop()) == (1, 0, -2)
        with cuda.nvtx.range("batch {}", 3):
            cuda.nvtx.mark("here")
        cuda.nvtx.range_end(cuda.nvtx.range_start("across"))
    assert {"outer", "inner", "batch 3", "here", "across"} <= {event.name for event in prof.function_events}
    with pytest.raises(TypeError, match="must be a str, got int"):
        cuda.nvtx.range_push(3)
    assert cuda.nvtx.range_pop() == -2


def test_running_out_of_memory_in_the_middle_of_backward_leaves_everything_whole():
    pytest.importorskip("torch.nn")
    said = run(
        """
        import torch
        from torch import nn
        from torch._cuda import _native
        torch.manual_seed(0)
        model, x = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 1)).cuda(), torch.randn(5, 8, device="cuda")
        model(x).sum().backward()
        wanted = [p.grad.cpu() for p in model.parameters()]
        before = [p.detach().cpu() for p in model.parameters()]
        refused = 0
        for allocations in range(100):
            model.zero_grad()
            loss = model(x).sum()
            _native.configure(allocations_to_fail=allocations)
            try:
                loss.backward()
            except torch.cuda.OutOfMemoryError:
                refused += 1
            else:
                break
            finally:
                _native.configure()
            del loss
            model.zero_grad()
            model(x).sum().backward()
            assert all(torch.equal(p.grad.cpu(), g) for p, g in zip(model.parameters(), wanted))
            assert all(torch.equal(p.detach().cpu(), q) for p, q in zip(model.parameters(), before))
        print(refused > 4, all(torch.equal(p.grad.cpu(), g) for p, g in zip(model.parameters(), wanted)))
        """,
        PYTORCH_NO_CUDA_MEMORY_CACHING="1",
    )
    assert said == "True True\n"
