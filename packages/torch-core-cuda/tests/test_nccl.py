"""Collectives between two devices of one process, as torch.cuda.nccl has them."""

import pytest
from test_devices import run


def test_collectives():
    said = run(
        """
        import torch
        from torch import cuda
        from torch.cuda import nccl

        def pair(n=4):
            return [torch.arange(float(n), device=f"cuda:{i}") + 10 * i for i in range(2)]

        def show(xs):
            print([(x.tolist(), x.get_device()) for x in xs])

        print(nccl.is_available(pair()), nccl.is_available([pair()[0]] * 2))
        x = pair(); nccl.all_reduce(x); show(x)
        x, y = pair(), pair(); nccl.all_reduce(x, y, op=2); show(y)
        x = pair(); nccl.reduce(x, root=1); show(x)
        x = pair(); nccl.broadcast(x, root=1); show(x)
        x = pair(2); y = [torch.zeros(4, device=f"cuda:{i}") for i in range(2)]; nccl.all_gather(x, y); show(y)
        x = pair(); y = [torch.zeros(2, device=f"cuda:{i}") for i in range(2)]; nccl.reduce_scatter(x, y); show(y)
        streams = [cuda.Stream(0), cuda.Stream(1)]
        x = pair(); cuda.synchronize(0); cuda.synchronize(1)
        nccl.all_reduce(x, streams=streams)
        for s in streams: s.synchronize()
        show(x)
        print(cuda.current_device())
        """,
        "devices=2,lazy",
    ).splitlines()
    total = [10.0, 12.0, 14.0, 16.0]
    assert said == [
        "True False",
        str([(total, 0), (total, 1)]),
        str([([10.0, 11.0, 12.0, 13.0], 0), ([10.0, 11.0, 12.0, 13.0], 1)]),
        str([([0.0, 1.0, 2.0, 3.0], 0), (total, 1)]),
        str([([10.0, 11.0, 12.0, 13.0], 0), ([10.0, 11.0, 12.0, 13.0], 1)]),
        str([([0.0, 1.0, 10.0, 11.0], 0), ([0.0, 1.0, 10.0, 11.0], 1)]),
        str([([10.0, 12.0], 0), ([14.0, 16.0], 1)]),
        str([(total, 0), (total, 1)]),
        "0",
    ]


def test_mistakes_are_named():
    import torch
    from torch.cuda import nccl

    x = torch.ones(4, device="cuda")
    for call, error, text in (
        (lambda: nccl.all_reduce(x), TypeError, "should be a collection of tensors"),
        (lambda: nccl.all_reduce([x, x]), RuntimeError, "numbers 0 and 1 of inputs are both on cuda:0"),
        (lambda: nccl.all_reduce([x.cpu()]), RuntimeError, "number 0 is on cpu"),
        (lambda: nccl.all_reduce([x.view(2, 2).t()]), RuntimeError, "number 0 is not contiguous"),
        (lambda: nccl.reduce([x], root=1), ValueError, "root must be one of 1 inputs, got 1"),
        (lambda: nccl.all_gather([x], [x[:2]]), RuntimeError, "expected an output of 4 elements"),
        (lambda: nccl.all_reduce([x], op=9), ValueError, "expected op to be one of"),
        (lambda: nccl.all_reduce([]), ValueError, "at least one tensor"),
        (lambda: nccl.check_error(3), nccl.NcclError, "3"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert len(nccl.communicator([x])) == 1 and nccl.cudaStream() == 0
