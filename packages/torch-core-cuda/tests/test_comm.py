"""torch.cuda.comm over two and three devices. Each case is a process of its own, whose layer has other settings."""

import pytest
import torch
from test_devices import run
from torch.cuda import comm

SETTINGS = ["devices=2,guard", "devices=2,guard,lazy,order=5"]


@pytest.mark.parametrize("settings", SETTINGS)
def test_broadcast(settings):
    said = run(
        """
        import torch
        from torch.cuda import comm
        x = torch.arange(3.0, device="cuda:0")
        a, b = comm.broadcast(x, [0, 1])
        print(a.data_ptr() == x.data_ptr(), b.device, b.tolist())
        a, b = comm.broadcast(torch.ones(2), ("cuda:1", 0))
        print(a.device, b.device, b.tolist())
        out = [torch.zeros(3, device="cuda:1"), torch.zeros(3, device="cuda:0")]
        back = comm.broadcast(x, out=out)
        print(back[0] is out[0], out[0].tolist(), out[1].tolist())
        y = [torch.ones(2, 2, device="cuda:0"), torch.arange(3, device="cuda:0"), x, torch.tensor(7.0, device="cuda:0")]
        for size in (1, 20, 1 << 20):
            rows = comm.broadcast_coalesced(y, [0, 1], size)
            print(all(p is q for p, q in zip(rows[0], y)), {str(t.device) for t in rows[1]},
                  all(torch.equal(p.cpu(), q.cpu()) and p.dtype == q.dtype for p, q in zip(rows[1], y)))
        """,
        settings,
    ).splitlines()
    assert said == [
        "True cuda:1 [0.0, 1.0, 2.0]",
        "cuda:1 cuda:0 [1.0, 1.0]",
        "True [0.0, 1.0, 2.0] [0.0, 1.0, 2.0]",
        *["True {'cuda:1'} True"] * 3,
    ]


@pytest.mark.parametrize("settings", SETTINGS)
def test_parts_are_scattered_and_gathered(settings):
    said = run(
        """
        import torch
        from torch.cuda import comm
        x = torch.arange(10.0).reshape(2, 5)
        a, b = comm.scatter(x, [0, 1], dim=1)
        print(a.device, a.tolist(), b.device, b.tolist())
        a, b = comm.scatter(x.cuda(), [1, 0], (1, 4), -1, streams=[torch.cuda.Stream(1), None])
        torch.cuda.synchronize(1)
        print(a.device, a.tolist(), b.device, b.tolist())
        out = [torch.zeros(2, 2, device="cuda:1"), torch.zeros(2, 3, device="cuda:0")]
        comm.scatter(x, out=out, dim=1)
        print(out[0].tolist(), out[1].tolist())
        y = comm.gather(out, 1)
        print(y.device, torch.equal(y.cpu(), x), comm.gather(out, 1, "cpu").device, comm.gather(out, 1, 1).device)
        z = torch.empty(2, 5, device="cuda:1")
        print(comm.gather(out, 1, out=z) is z, torch.equal(z.cpu(), x))
        """,
        settings,
    ).splitlines()
    assert said == [
        "cuda:0 [[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]] cuda:1 [[3.0, 4.0], [8.0, 9.0]]",
        "cuda:1 [[0.0], [5.0]] cuda:0 [[1.0, 2.0, 3.0, 4.0], [6.0, 7.0, 8.0, 9.0]]",
        "[[0.0, 1.0], [5.0, 6.0]] [[2.0, 3.0, 4.0], [7.0, 8.0, 9.0]]",
        "cuda:0 True cpu cuda:1",
        "True True",
    ]


def test_sums_over_three_devices():
    said = run(
        """
        import torch
        from torch.cuda import comm
        x = [torch.full((2,), 10.0**i, device=f"cuda:{i}") for i in range(3)]
        total = comm.reduce_add(x)
        print(total.device, total.tolist(), x[0].tolist(), comm.reduce_add(x, 2).device)
        sums = comm.reduce_add_coalesced([[t, (t * 2).long(), t.sum()] for t in x], 1, 8)
        print([str(s.device) for s in sums], [s.tolist() for s in sums])
        """,
        "devices=3,guard,lazy",
    ).splitlines()
    assert said == [
        "cuda:0 [111.0, 111.0] [1.0, 1.0] cuda:2",
        "['cuda:1', 'cuda:1', 'cuda:1'] [[111.0, 111.0], [222, 222], 222.0]",
    ]


def test_what_cannot_be_exchanged_is_refused_before_anything_moves():
    x, here = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(RuntimeError, match="exactly one of 'devices' and 'out'"):
        comm.broadcast(x)
    with pytest.raises(ValueError, match="at least one device, got none"):
        comm.broadcast(x, [])
    with pytest.raises(ValueError, match="expected a CUDA device, got cpu"):
        comm.broadcast(x, ["cpu"])
    with pytest.raises(RuntimeError, match="there is no cuda:3"):
        comm.broadcast(here, [3])
    with pytest.raises(RuntimeError, match=r"expected out\[0\] of shape \(3,\) on a CUDA device, got \(2,\) on cuda:0"):
        comm.broadcast(x, out=[torch.ones(2, device="cuda")])
    with pytest.raises(RuntimeError, match="must be on cuda:0, the first device, and tensor 1 is on cpu"):
        comm.broadcast_coalesced([x, here], [0])
    with pytest.raises(
        RuntimeError, match=r"chunk_sizes=\[1, 1\] must be a size for each of 2 devices, and add up to 3"
    ):
        comm.scatter(x, [0, 0], [1, 1])
    with pytest.raises(ValueError, match="input 1 is on cpu"):
        comm.reduce_add([x, here])
    with pytest.raises(ValueError, match=r"input 1 has invalid size: got \(2,\), but expected \(3,\)"):
        comm.reduce_add([x, x[:2]])
    with pytest.raises(ValueError, match=r"as many tensors of each device, got \[1, 2\]"):
        comm.reduce_add_coalesced([[x], [x, x]])
    with pytest.raises(
        RuntimeError, match=r"expected all inputs to be on GPUs, and at least one, got \['cuda:0', 'cpu'\]"
    ):
        comm.gather([x, here])
    wide = torch.ones(4, 3, device="cuda")
    with pytest.raises(
        RuntimeError, match=r"expected out\[1\] of shape \(\*, 3\) on a CUDA device, got \(2, 1\) on cuda:0"
    ):
        comm.scatter(wide, out=[torch.ones(2, 3, device="cuda"), torch.ones(2, 1, device="cuda")])
    with pytest.raises(
        RuntimeError, match=r"expected out\[0\] of shape \(4, \*\) on a CUDA device, got \(4, 3\) on cpu"
    ):
        comm.scatter(wide, dim=-1, out=[torch.ones(4, 3)])
    with pytest.raises(RuntimeError, match=r"gather: expected out of size 8 in dim 0, got shape \(7, 3\)"):
        comm.gather([wide, wide], out=torch.ones(7, 3, device="cuda"))
    with pytest.raises(RuntimeError, match=r"gather: expected out of shape \(\*, 3\) on a CUDA device, got \(8, 1\)"):
        comm.gather([wide, wide], out=torch.ones(8, 1, device="cuda"))
