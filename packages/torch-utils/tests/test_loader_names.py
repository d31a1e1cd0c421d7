"""Names under which programs of PyTorch, old and new, look for the pieces of a loader."""

import os

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


def test_names_that_third_parties_use():
    import torch.utils.data.dataloader
    from torch.utils.data._utils.collate import default_collate

    assert torch.utils.data.dataloader.default_collate is default_collate
    assert torch.utils.data._utils.collate.default_collate is default_collate


@pytest.mark.parametrize("how", [{}, {"num_workers": 1}, {"num_workers": 1, "worker_kind": "thread"}])
def test_iterators_have_a_length_and_the_next_of_2017(how):
    from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter

    iterator = iter(DataLoader(range(10), batch_size=3, **how))
    assert len(iterator) == 4 and iterator.next().tolist() == [0, 1, 2] and next(iterator).tolist() == [3, 4, 5]
    assert isinstance(iterator, _BaseDataLoaderIter) and iter(iterator) is iterator
    assert isinstance(iterator, _MultiProcessingDataLoaderIter) == (how == {"num_workers": 1})


def test_what_programs_import_from_private_modules():
    from torch._utils import ExceptionWrapper, _flatten_dense_tensors, _unflatten_dense_tensors
    from torch.utils.data import _utils
    from torch.utils.data._utils.pin_memory import pin_memory
    from torch.utils.data._utils.worker import WorkerInfo
    from torch.utils.data.dataloader import _InfiniteConstantSampler

    assert _utils.MP_STATUS_CHECK_INTERVAL > 0 and _utils.python_exit_status is False
    assert ExceptionWrapper is _utils.ExceptionWrapper is torch.utils.data.ExceptionWrapper
    assert pin_memory is torch.utils.data.pin_memory_batch and WorkerInfo is torch.utils.data.WorkerInfo

    class Endless(IterableDataset):
        def __iter__(self):
            return iter(int, 1)

    assert isinstance(DataLoader(Endless()).sampler, _InfiniteConstantSampler)
    parts = [torch.rand(2, 3), torch.rand(()), torch.rand(0), torch.rand(4)]
    flat = _flatten_dense_tensors(parts)
    again = _unflatten_dense_tensors(flat, parts)
    assert flat.shape == (11,) and all(map(torch.equal, parts, again)) and again[0].data_ptr() == flat.data_ptr()


def test_a_worker_is_known_by_its_pid_after_the_loop():
    class Pids(IterableDataset):
        def __iter__(self):
            yield get_worker_info().id, os.getpid()

    iterator = iter(DataLoader(Pids(), batch_size=None, num_workers=2))
    assert {iterator._workers[i].pid: pid for i, pid in iterator} == {w.pid: w.pid for w in iterator._workers}


def test_the_kind_of_a_data_set_is_told_and_has_a_fetcher():
    from torch.utils.data.dataloader import _DatasetKind

    loader = DataLoader(range(4), batch_size=2)
    assert loader._dataset_kind == _DatasetKind.Map
    fetcher = _DatasetKind.create_fetcher(loader._dataset_kind, range(4), True, list, False)
    assert fetcher.fetch([1, 2]) == [1, 2]


def test_a_loader_of_another_class_lends_itself_to_the_iterators():
    from torch.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        _auto_collation, collate_fn, drop_last, generator, num_workers = False, None, False, None, 0
        _dataset_kind = _DatasetKind.Iterable
        _index_sampler = range(5)

        def __init__(self):
            self.dataset = self
            self.collate_fn = lambda batch: batch

        def __iter__(self):
            return iter([torch.ones(2), torch.zeros(2)])

        def __len__(self):
            return 2

    batches = _SingleProcessDataLoaderIter(Loader())
    assert [b.tolist() for b in batches] == [[1, 1], [0, 0]] and len(batches) == 2


def test_a_loader_that_sets_itself_up_has_a_length():
    from torch.utils.data import _DatasetKind

    class Loader(DataLoader):
        def __init__(self, dataset):
            self.dataset, self.batch_size, self.drop_last = dataset, 2, False
            self.sampler = torch.utils.data.SequentialSampler(dataset)
            self.batch_sampler = torch.utils.data.BatchSampler(self.sampler, 2, False)
            self._dataset_kind = _DatasetKind.Map

    assert len(Loader(range(5))) == 3
