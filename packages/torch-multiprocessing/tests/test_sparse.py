"""Sparse tensors go between processes by the handles of their indices and values."""

import pytest
import torch
from torch.multiprocessing import reductions


def _change(queue, back):
    s = queue.get()
    s._values().mul_(10)
    back.put((s.is_coalesced(), tuple(s.shape), s._indices().tolist(), s.dtype == torch.float64))


def test_both_sides_see_writes_to_the_values(ctx):
    s = torch.sparse_coo_tensor([[0, 2], [1, 0]], [[1.0, 2.0], [3.0, 4.0]], (3, 2, 2), dtype=torch.float64).coalesce()
    queue, back = ctx.Queue(), ctx.Queue()
    p = ctx.Process(target=_change, args=(queue, back))
    p.start()
    queue.put(s)
    told = back.get(timeout=60)
    p.join()
    assert told == (True, (3, 2, 2), [[0, 2], [1, 0]], True)
    assert s.is_shared() and s._values().tolist() == [[10.0, 20.0], [30.0, 40.0]]


def _change_compressed(queue, back):
    s = queue.get()
    s.values().mul_(10)
    back.put((s.layout, tuple(s.shape), s.crow_indices().tolist(), s.col_indices().tolist()))


def test_both_sides_see_writes_to_the_values_of_a_compressed_tensor(ctx):
    s = torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse_csr()
    queue, back = ctx.Queue(), ctx.Queue()
    p = ctx.Process(target=_change_compressed, args=(queue, back))
    p.start()
    queue.put(s)
    told = back.get(timeout=60)
    p.join()
    assert told == (torch.sparse_csr, (2, 2), [0, 1, 2], [1, 0])
    assert s.is_shared() and s.values().tolist() == [10.0, 20.0]


def test_a_compressed_tensor_keeps_that_it_needs_gradients():
    pytest.importorskip("torch.autograd")
    rebuild, args = reductions.reduce_tensor(torch.eye(4).to_sparse_bsc((2, 2)).requires_grad_())
    t = rebuild(*args)
    assert rebuild is reductions.rebuild_sparse_compressed_tensor and t.layout == torch.sparse_bsc and t.requires_grad


def test_what_a_message_holds_makes_the_tensor_again():
    s = torch.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (3,))
    assert s.share_memory_() is s and s.is_shared()
    rebuild, args = reductions.reduce_tensor(s)
    assert rebuild is reductions.rebuild_sparse_coo_tensor
    t = rebuild(*args)
    t._values()[0] = 5
    assert t.to_dense().tolist() == [0, 7, 0] and s.to_dense().tolist() == [0, 7, 0] and not t.is_coalesced()
