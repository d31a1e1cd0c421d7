"""Programs of 2018: default types, classes and storages of CUDA, sparse ones, mixed precision."""

import pytest
import torch
from test_devices import run


def test_a_default_type_of_cuda_makes_tensors_there():
    said = run(
        """
        import torch
        torch.set_default_tensor_type("torch.cuda.DoubleTensor")
        made = [torch.Tensor(2, 3), torch.Tensor([1, 2]), torch.ones(2), torch.tensor([1.0]), torch.rand(3), torch.eye(2)]
        print({(x.device.type, x.dtype) for x in made})
        print(torch.arange(3).device.type, torch.FloatTensor(2).device.type, torch.zeros(2, device="cpu").device.type)
        torch.set_default_tensor_type(torch.FloatTensor)
        print(torch.Tensor(2).type(), torch.ones(1).type())
        for wrong in ("torch.cuda.LongTensor", torch.ByteTensor):
            try:
                torch.set_default_tensor_type(wrong)
            except TypeError as error:
                print(error)
        """
    ).splitlines()
    assert said[:3] == ["{('cuda', torch.float64)}", "cuda cpu cpu", "torch.FloatTensor torch.FloatTensor"]
    assert all(line.startswith("set_default_tensor_type: only floating-point types are supported") for line in said[3:])


def test_mixed_precision_follows_the_lists_of_cuda():
    functional = pytest.importorskip("torch.nn.functional")
    half, x = torch.ones(2, 2, device="cuda", dtype=torch.float16), torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"):
        wide = [half.exp(), half.sum(), half.softmax(0), half.log(), half**2, half.norm(), half.cumsum(0)]
        wide += [
            functional.mse_loss(half, half),
            functional.smooth_l1_loss(half, half),
            functional.layer_norm(half, (2,)),
        ]
        wide += [functional.cross_entropy(half, torch.tensor([0, 1], device="cuda")), torch.cat([half, x])]
        low = [x @ x, functional.linear(x, x), functional.relu(half), half + half, half * 2, half.max(), half.tanh()]
    assert {y.dtype for y in wide} == {torch.float32} and {y.dtype for y in low} == {torch.float16}
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16 and x.exp().dtype == torch.float32
        assert (x.cpu() @ x.cpu()).dtype == torch.float32  # the CPU is not cast
    with torch.autocast("cpu"):
        assert half.exp().dtype == torch.float16 and half.cpu().exp().dtype == torch.float16


def test_recurrent_layers_and_cells_give_half_types_in_mixed_precision():
    nn, x = pytest.importorskip("torch.nn"), torch.ones(4, 4, device="cuda")
    with torch.autocast("cuda"):
        for kind in (nn.RNN, nn.LSTM, nn.GRU):
            assert kind(4, 4).cuda()(x[None])[0].dtype is torch.float16
        assert nn.RNNCell(4, 4).cuda()(x).dtype is nn.GRUCell(4, 4).cuda()(x, x).dtype is torch.float16
        assert {t.dtype for t in nn.LSTMCell(4, 4).cuda()(x)} == {torch.float16}


def test_probabilities_of_half_types_are_refused_a_loss():
    functional = pytest.importorskip("torch.nn.functional")
    p = torch.full((2,), 0.5, device="cuda")
    with torch.autocast("cuda"):
        with pytest.raises(RuntimeError, match=r"binary_cross_entropy: .* unsafe to autocast.*BCEWithLogitsLoss"):
            functional.binary_cross_entropy(p.half(), p.half())
        with torch.autocast("cuda", enabled=False):
            assert functional.binary_cross_entropy(p, p).isfinite()
        assert functional.binary_cross_entropy(p.cpu(), p.cpu()).isfinite()  # another device's lists


def test_a_scaler_reads_one_number_in_a_step():
    pytest.importorskip("torch.optim")
    said = run(
        """
        import torch
        from torch import nn
        from torch._cuda import _native
        model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(4))).cuda()
        optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda", init_scale=4.0)
        for value in (1.0, float("inf"), 2.0):
            optimizer.zero_grad()
            loss = (model(torch.ones(2, 3, device="cuda")) * value).sum()
            scaler.scale(loss).backward()
            before, weight = _native.counts()["waits"], model[0].weight.clone()
            scaler.step(optimizer)
            scaler.update()
            waits = _native.counts()["waits"] - before
            print(waits, torch.equal(weight, model[0].weight), scaler.get_scale())
        """,
        "lazy",
    ).splitlines()
    assert said == ["1 False 4.0", "1 True 2.0", "1 False 2.0"]


def test_out_says_where_a_factory_computes():
    def out(dtype=torch.float32):
        return torch.empty(0, dtype=dtype, device="cuda")

    calls = {"zeros": (3,), "ones": (3,), "full": ((3,), 2.0), "eye": (3,), "arange": (0, 5), "range": (0, 5), "linspace": (0, 1, 5), "logspace": (0, 1, 5)}  # fmt: skip
    for name, args in calls.items():
        found = getattr(torch, name)(*args, out=out())
        assert found.is_cuda and torch.allclose(found.cpu(), getattr(torch, name)(*args).float()), name
    for name, args in {"rand": (3,), "randn": (3,), "empty": (3,), "normal": (0.0, 1.0, (3,))}.items():
        assert getattr(torch, name)(*args, out=out()).is_cuda
    assert torch.randperm(5, out=out(torch.int64)).sort()[0].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="Expected out tensor to be on cpu"):
        torch.zeros(3, out=out(), device="cpu")


def test_a_stream_that_is_kept_busy_is_waited_for():
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.cuda._sleep(2_000_000)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


def test_cuda_refuses_devices_that_are_none():
    for device in ("cpu", torch.device("meta")):
        with pytest.raises(RuntimeError, match="Invalid device, must be cuda device, got"):
            torch.ones(2).cuda(device)
