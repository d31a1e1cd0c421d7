"""Pinned memory."""

import torch
from programs.checks import two_devices
from torch import cuda


def pinned_memory_is_given_out_again_when_its_copies_are_done():
    ticks = 30_000_000
    t = torch.FloatTensor([1]).pin_memory()
    place = t.data_ptr()
    del t
    t = torch.FloatTensor([1]).pin_memory()
    assert t.data_ptr() == place
    gpu = cuda.FloatTensor([0])
    cuda._sleep(ticks)
    gpu.copy_(t, non_blocking=True)
    del t
    t = torch.FloatTensor([2]).pin_memory()
    assert t.data_ptr() != place  # a copy still reads it
    assert gpu.tolist() == [1] and t.is_pinned() and not torch.ones(1).is_pinned()


def pinned_memory_of_several_devices():
    two_devices()
    t = torch.FloatTensor([1]).pin_memory()
    place = t.data_ptr()
    a, b = cuda.FloatTensor([0], device=0), cuda.FloatTensor([0], device=1)
    with cuda.device(1):
        cuda._sleep(30_000_000)
        b.copy_(t, non_blocking=True)
    del t
    t = torch.FloatTensor([2]).pin_memory()
    assert t.data_ptr() != place
    with cuda.device(0):
        a.copy_(t, non_blocking=True)
    assert b[0].item() == 1 and a[0].item() == 2


def pinned_tensors_keep_their_shapes():
    x = torch.arange(100.0).view(10, 10)
    for view in (x, x.t(), x[:, 1], x[2:5, ::3]):
        y = view.pin_memory()
        assert y.is_pinned() and torch.equal(y, view) and torch.equal(y.cuda().cpu(), view)


def old_words_for_copies_that_do_not_wait():
    x = torch.ones(8).pin_memory()
    y = x.cuda(non_blocking=True)
    cuda.current_stream().synchronize()
    assert y.tolist() == [1] * 8
    z = torch.zeros(8, device="cuda")
    z.copy_(x, True)
    assert z.sum().item() == 8
