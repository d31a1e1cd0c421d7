"""torch.cuda.comm over two devices."""

import torch
from programs.checks import raises, two_devices
from torch import cuda
from torch.cuda import comm


def a_tensor_is_broadcast():
    two_devices()
    for source in (torch.randn(5, 5), torch.randn(5, 5).cuda(), torch.tensor(3.5), torch.tensor(3.5).cuda()):
        results = comm.broadcast(source, (0, 1))
        assert [r.get_device() for r in results] == [0, 1]
        assert all(torch.equal(r.cpu(), source.cpu()) and r.shape == source.shape for r in results)
    results[1].fill_(1)
    assert source.item() == 3.5


def many_tensors_are_broadcast_together():
    two_devices()

    def n(*size):
        return torch.randn(*size, device="cuda")

    sparse = torch.sparse_coo_tensor([[0, 1, 1]], [1.0, 2.0, 3.0], (3,)).cuda()
    tensors = [
        n(20, 4), n(1000), n(3, 2).double(), sparse, n(10).half(), torch.arange(9, device="cuda"), n(()),
        torch.tensor(5, device="cuda"), n(0, 3), n(60, 70), sparse * 2, n(4, 4).t(), torch.ones(3, device="cuda").byte(),
    ]  # fmt: skip
    for buffer_size in (1, 100, 5 << 10, 10 << 20):
        rows = comm.broadcast_coalesced(tensors, (0, 1), buffer_size)
        assert len(rows) == 2 and all(a is b for a, b in zip(rows[0], tensors, strict=True))
        for a, b in zip(rows[1], tensors, strict=True):
            assert a.get_device() == 1 and a.type() == b.type() and a.shape == b.shape
            assert torch.equal(a.to_dense().cpu(), b.to_dense().cpu()) if b.is_sparse else torch.equal(a.cpu(), b.cpu())


def sums_of_devices():
    two_devices()
    x, y = torch.randn(5, 5), torch.randn(5, 5)
    result = comm.reduce_add((x.cuda(0), y.cuda(1)))
    assert result.get_device() == 0 and torch.allclose(result.cpu(), x + y)
    assert comm.reduce_add((torch.tensor(1.0).cuda(1), torch.tensor(2.0).cuda(0)), 1).item() == 3
    raises(ValueError, "size", lambda: comm.reduce_add((x.cuda(0), y[:3].cuda(1))))


def sums_of_many_tensors():
    two_devices()

    def tensors():
        g = torch.Generator().manual_seed(4)
        made = [torch.randn(n, 4, generator=g) for n in (20, 1, 500)] + [torch.tensor(3.0), torch.arange(6)]
        return made + [torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (4,)), torch.randn(3, generator=g).double()]

    here = tensors()
    pair = [[t.cuda(0) for t in tensors()], [t.cuda(1) for t in tensors()]]
    for buffer_size in (1, 1 << 10, 10 << 20):
        sums = comm.reduce_add_coalesced(pair, buffer_size=buffer_size)
        for a, b in zip(sums, here, strict=True):
            assert a.get_device() == 0 and a.dtype == b.dtype and a.is_sparse == b.is_sparse
            assert torch.equal(a.to_dense().cpu(), b.to_dense() * 2) if b.is_sparse else torch.equal(a.cpu(), b * 2)


def a_tensor_is_scattered():
    two_devices()
    for x in (torch.arange(20.0).view(4, 5), torch.arange(20.0).view(4, 5).cuda()):
        for dim, sizes in ((0, None), (1, (2, 3)), (-1, None), (0, (3, 1)), (-2, (1, 3))):
            parts = comm.scatter(x, (0, 1), sizes, dim)
            assert [p.get_device() for p in parts] == [0, 1]
            wanted = x.chunk(2, dim) if sizes is None else x.split(sizes, dim)
            assert all(torch.equal(p.cpu(), w.cpu()) for p, w in zip(parts, wanted, strict=True))
            assert torch.equal(comm.gather(parts, dim).cpu(), x.cpu())
    streams = [cuda.Stream(0), cuda.Stream(1)]
    parts = comm.scatter(x, (0, 1), streams=streams)
    [s.synchronize() for s in streams]
    assert torch.equal(parts[1].cpu(), x[2:].cpu())


def a_number_cannot_be_scattered_and_numbers_cannot_be_gathered_by_comm():
    two_devices()
    numbers = torch.tensor(1.0).cuda(0), torch.tensor(2.0).cuda(1)
    raises(RuntimeError, "1-dimensional", lambda: comm.scatter(numbers[0], (0, 1)))
    raises(RuntimeError, "zero-dimensional", lambda: comm.gather(numbers))


def parts_are_gathered():
    two_devices()
    x, y = torch.randn(2, 5), torch.randn(3, 5)
    for destination, index in ((None, 0), (0, 0), (1, 1), ("cuda:1", 1), ("cpu", -1)):
        result = comm.gather((x.cuda(0), y.cuda(1)), destination=destination)
        assert result.get_device() == index and torch.equal(result.cpu(), torch.cat((x, y)))
    a, b = torch.randn(4, 1).cuda(1), torch.randn(4, 2).cuda(0)
    assert torch.equal(comm.gather((a, b), 1).cpu(), torch.cat((a.cpu(), b.cpu()), 1))
    raises(RuntimeError, "size", lambda: comm.gather((x.cuda(0), y.cuda(1)), 1))
    with cuda.device(1):
        assert comm.gather((x.cuda(0), y.cuda(1))).get_device() == 1
