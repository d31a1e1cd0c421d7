"""Orders and random streams: they follow the seed and not the workers."""

import random
import warnings

import numpy as np
import torch
from loaders import KINDS, WORKERS, Numbers, Squares
from torch.utils.data import DataLoader, Dataset, get_worker_info


@KINDS
def test_a_shuffled_order_follows_the_seed_and_not_the_workers(how):
    def order():
        torch.manual_seed(11)
        return [i for b in DataLoader(Numbers(30), batch_size=7, shuffle=True, **how) for i in b[0].tolist()]

    first = order()
    assert sorted(first) == list(range(30)) != first and order() == first
    torch.manual_seed(11)
    assert first == [i for b in DataLoader(Numbers(30), batch_size=7, shuffle=True) for i in b[0].tolist()]


@WORKERS
def test_order_by_a_generator_is_the_same_for_any_number_of_workers(how):
    def order(**more):
        generator = torch.Generator().manual_seed(9)
        loader = DataLoader(Squares(30), batch_size=4, shuffle=True, generator=generator, **more)
        return [[x for b in loader for x in b.tolist()] for _ in range(2)]

    first, second = order()
    assert first != second and order(**how) == [first, second] == order(**{**how, "num_workers": 1})


def test_seeds_of_workers_are_apart_and_follow_the_process():
    class Draws(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            info = get_worker_info()
            return info.id, info.seed, torch.initial_seed(), random.random(), np.random.rand(), torch.rand(()).item()

    def draw(seed, workers):
        torch.manual_seed(seed)
        return list(DataLoader(Draws(), batch_size=None, num_workers=workers))

    for workers in (1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, again, other = draw(1, workers), draw(1, workers), draw(2, workers)
        assert first == again != other
        assert len({s[1] for s in first}) == workers and all(s[1] == s[2] for s in first)
        assert {s[1] - s[0] for s in first} == {first[0][1]}  # a base and the number of the worker
        for column in (3, 4, 5):
            assert len({s[column] for s in first}) == 6


def test_the_seed_of_a_pass_is_drawn_when_it_begins():
    def after(workers):
        torch.manual_seed(3)
        iterator = iter(DataLoader(range(4), num_workers=workers))
        drawn = torch.rand(1).item()
        next(iterator)
        return drawn

    assert after(0) == after(1)
