"""What a pickle restores has memory of its own, whoever holds the bytes that it came from."""

import io
import pickle

import pytest
import torch
from torch import _C


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("size", [0, 3, 16, 1 << 16, 1 << 20])
def test_a_restored_storage_leaves_the_bytes_alone(kind, size):
    storage = _C._restore(kind(size))  # nobody else holds these
    held = kind(size)
    other = _C._restore(held)
    assert len(storage) == len(other) == size and storage._owner is other._owner is None
    memoryview(storage)[:] = memoryview(other)[:] = b"\7" * size
    assert held == kind(size)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_the_bytes_in_a_pickle_never_change(protocol):
    reader = pickle._Unpickler(io.BytesIO(pickle.dumps(torch.zeros(1 << 15), protocol)))  # its memo can be looked at
    made = reader.load()
    kept = [item for item in reader.memo.values() if isinstance(item, (bytes, bytearray)) and len(item) >= 1 << 15]
    made.fill_(1.0)
    assert all(not any(item) for item in kept)
    assert made.untyped_storage().resizable()
