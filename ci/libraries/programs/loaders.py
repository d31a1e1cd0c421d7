"""Loaders whose place can be saved: torchdata."""

import torch
from common import numbers

DISTRIBUTIONS = ["torchdata"]


def _data():
    return torch.utils.data.TensorDataset(numbers(10, 2))


def batches():
    from torchdata.stateful_dataloader import StatefulDataLoader

    return [batch for (batch,) in StatefulDataLoader(_data(), batch_size=3)]


def resumed():
    from torchdata.stateful_dataloader import StatefulDataLoader

    loader = StatefulDataLoader(_data(), batch_size=3)
    iterator = iter(loader)
    next(iterator), next(iterator)
    other = StatefulDataLoader(_data(), batch_size=3)
    other.load_state_dict(loader.state_dict())
    return [batch for (batch,) in other]


def nodes():
    from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper

    return list(Loader(Mapper(Batcher(IterableWrapper(range(7)), batch_size=3), sum)))
