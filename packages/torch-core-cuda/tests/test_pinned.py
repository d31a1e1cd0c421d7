"""Pinned memory: who has it, that it is given out again, and that copies from it are whole."""

import gc

import pytest
import torch
from torch import cuda
from torch._cuda import _native


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.int8, torch.bool, torch.bfloat16, torch.complex64]
)
def test_a_pinned_tensor_is_a_copy_that_says_so(dtype):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    y = x.pin_memory()
    assert y.is_pinned() and not x.is_pinned() and torch.equal(x, y) and y.dtype == dtype
    assert y.device == torch.device("cpu") and y.data_ptr() != x.data_ptr() and y.pin_memory() is y
    assert y[1].is_pinned() and y.t().is_pinned() and y[:, 2:].is_pinned() and not y.clone().is_pinned()
    assert torch.equal(y.cuda().cpu(), x) and not y.cuda().is_pinned()


def test_strides_are_kept_and_gaps_are_not():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert x.permute(2, 0, 1).pin_memory().stride() == (1, 12, 4)
    assert torch.equal(x[:, ::2, 1:].pin_memory(), x[:, ::2, 1:])
    assert torch.equal(torch.ones(3, 1).expand(3, 4).pin_memory(), torch.ones(3, 4))
    assert torch.tensor(2.5).pin_memory().item() == 2.5 and torch.empty(0, 3).pin_memory().shape == (0, 3)


def test_factories_make_pinned_tensors_when_asked():
    made = [
        torch.empty(3, pin_memory=True),
        torch.zeros(3, pin_memory=True),
        torch.full((2,), 7, pin_memory=True),
        torch.arange(4, pin_memory=True),
        torch.tensor([1.0, 2.0], pin_memory=True),
        torch.ones(2).new_tensor([3], pin_memory=True),
        torch.empty_permuted((2, 3), (1, 0), pin_memory=True),
    ]
    assert all(x.is_pinned() for x in made) and made[2].tolist() == [7, 7] and made[3].tolist() == [0, 1, 2, 3]
    assert made[4].tolist() == [1.0, 2.0] and made[6].stride() == (1, 2)
    assert not torch.zeros(3, pin_memory=False).is_pinned()
    with pytest.raises(RuntimeError, match=r"only dense CPU tensors can be pinned.*on cuda:0"):
        torch.zeros(3, device="cuda", pin_memory=True)
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.eye(2).to_sparse().pin_memory()
    with pytest.raises(TypeError, match="pin_memory says nothing of out"):
        torch.zeros(3, pin_memory=True, out=torch.ones(3))


def test_a_pinned_leaf_records_gradients():
    pytest.importorskip("torch.autograd")
    x = torch.tensor([1.0, 2.0], pin_memory=True, requires_grad=True)
    assert x.is_pinned() and x.requires_grad and x.is_leaf


def test_memory_lives_as_long_as_a_view_and_is_then_given_out_again():
    gc.collect()
    x = torch.arange(1000.0).pin_memory()
    place, part = x.data_ptr(), x[10:20]
    del x
    other = torch.zeros(1000).pin_memory()
    assert other.data_ptr() != place and part.tolist() == list(range(10, 20))
    del part
    assert torch.ones(900).pin_memory().data_ptr() == place
    assert not _native.is_pinned(place)
    _native.empty_pinned_cache()
    assert other.is_pinned() and other.sum() == 0


def test_a_copy_from_pinned_memory_goes_on_when_it_is_asked_to():
    _native.configure(lazy=True)
    x = torch.ones(1000).pin_memory()
    waits = _native.counts()["waits"]
    y = x.to("cuda", non_blocking=True)
    assert _native.counts()["waits"] == waits
    x.zero_()  # too early, which is what the program said that it would not do
    assert y.cpu().tolist() == [0.0] * 1000
    z = x.fill_(3).cuda()  # without it, the copy is done
    x.zero_()
    assert z.cpu().tolist() == [3.0] * 1000


def test_a_copy_to_pinned_memory_is_there_when_it_has_been_waited_for():
    _native.configure(lazy=True)
    x, y = torch.zeros(1000).pin_memory(), torch.ones(1000, device="cuda")
    cuda.synchronize()
    waits = _native.counts()["waits"]
    x.copy_(y * 2, non_blocking=True)
    assert _native.counts()["waits"] == waits and x[0].item() != 2
    done = cuda.current_stream().record_event()
    done.synchronize()
    assert x.tolist() == [2.0] * 1000
    half = torch.zeros(1000, dtype=torch.float16).pin_memory()
    half.copy_(y * 3, non_blocking=True)  # another dtype: what is copied is not pinned
    assert half.tolist() == [3.0] * 1000


def test_pinned_memory_is_not_given_out_while_a_copy_reads_it():
    _native.configure(lazy=True)
    _native.empty_pinned_cache()
    x = torch.full((1000,), 5.0).pin_memory()
    place, y = x.data_ptr(), x.to("cuda", non_blocking=True)
    del x
    gc.collect()
    other = torch.zeros(1000).pin_memory()
    assert other.data_ptr() != place and not _native.is_pinned(place)
    assert y.cpu().tolist() == [5.0] * 1000
    assert torch.zeros(1000).pin_memory().data_ptr() == place


def test_gradients_go_through_a_pinned_copy():
    pytest.importorskip("torch.autograd")
    x = torch.arange(3.0, requires_grad=True)
    y = x.pin_memory()
    y.square().sum().backward()
    assert y.is_pinned() and x.grad.tolist() == [0, 2, 4]


def test_storages():
    s = torch.FloatStorage([1, 2])
    p = s.pin_memory()
    assert p.is_pinned() and not s.is_pinned() and torch.ones(2).pin_memory().storage().is_pinned()
    assert torch.ones(2).pin_memory().untyped_storage().is_pinned()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_gives_pinned_batches(workers):
    data = pytest.importorskip("torch.utils.data")
    numbers = data.TensorDataset(torch.arange(10.0), torch.arange(10))
    for batch in data.DataLoader(numbers, batch_size=5, pin_memory=True, num_workers=workers):
        assert [x.is_pinned() for x in batch] == [True, True]
        assert torch.equal(batch[0].cuda().cpu(), batch[1].float())
    batch = next(iter(data.DataLoader([{"a": torch.ones(2), "b": "text"}], pin_memory=True)))
    assert batch["a"].is_pinned() and batch["b"] == ["text"]
