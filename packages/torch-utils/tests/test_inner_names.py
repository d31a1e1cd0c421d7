"""Names below torch.utils that libraries read."""

import contextlib

import pytest
import torch
from torch.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager, context_decorator
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    is_in_torch_dispatch_mode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from torch.utils.data._utils.worker import _generate_state


def test_tensors_are_grouped_by_device_and_dtype():
    a, b, c = torch.ones(1), torch.ones(1).double(), torch.ones(1, device="meta")
    groups = _group_tensors_by_device_and_dtype([[a, b, c, a], [None, b, None, c]], with_indices=True)
    assert list(groups) == [(t.device, t.dtype) for t in (a, b, c)]
    (first, second), places = groups[a.device, a.dtype]
    assert first[0] is a and first[1] is a and second[0] is None and second[1] is c and places == [0, 3]
    with pytest.raises(RuntimeError, match=r"lists of one length, got \[1, 2\]"):
        _group_tensors_by_device_and_dtype([[a], [a, a]])


class Noted(_DecoratorContextManager):
    def __init__(self, notes):
        self.notes = notes

    def clone(self):
        return Noted(self.notes)

    def __enter__(self):
        self.notes.append("in")

    def __exit__(self, *error):
        self.notes.append("out")


def test_contexts_decorate_functions_and_generators():
    notes = []

    @Noted(notes)
    def add(a, b):
        notes.append("run")
        return a + b

    @Noted(notes)
    def count():
        got = yield 1
        notes.append(got)
        try:
            yield 2
        except KeyError:
            notes.append("caught")
        return 3

    assert add(1, b=2) == 3 and notes == ["in", "run", "out"]
    notes.clear()
    running = count()
    assert next(running) == 1 and notes == ["in", "out"]
    assert running.send("sent") == 2 and notes == ["in", "out", "in", "sent", "out"]
    with pytest.raises(StopIteration) as end:
        running.throw(KeyError())
    assert end.value.value == 3 and notes[-3:] == ["in", "caught", "out"]
    with pytest.raises(RuntimeError, match="cannot decorate the class Noted"):
        context_decorator(contextlib.nullcontext, Noted)


def test_contexts_without_arguments_decorate_without_parentheses():
    class Plain(_NoParamDecoratorContextManager):
        entered = 0

        def __enter__(self):
            Plain.entered += 1

        def __exit__(self, *error):
            pass

    @Plain
    def one():
        return 1

    assert one() == 1 and Plain.entered == 1
    with Plain():
        assert Plain.entered == 2


def test_seeds_of_workers_are_those_of_numpy():
    numpy = pytest.importorskip("numpy")
    for base, worker in ((0, 0), (1, 2), (2**40 + 5, 3), (2**63 - 1, 100)):
        sequence = numpy.random.SeedSequence([worker, base & 0xFFFFFFFF, base >> 32, 0])
        assert _generate_state(base, worker) == sequence.generate_state(4).tolist()


def test_modes_and_wrapping_tensors():
    assert not is_traceable_wrapper_subclass(torch.ones(1))

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert not is_in_torch_dispatch_mode()
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names = []
    with Names() as mode:
        torch.ones(2).exp()
        assert is_in_torch_dispatch_mode() and _get_current_dispatch_mode() is mode
        with _disable_current_modes():
            torch.ones(2)
    assert names == ["aten.ones.default", "aten.exp.default"] and _get_current_dispatch_mode() is None

    class Means(Names):
        is_infra_mode = classmethod(lambda cls: True)

    with Means():
        assert is_in_torch_dispatch_mode() and not is_in_torch_dispatch_mode(include_infra_modes=False)
        with Names():
            assert is_in_torch_dispatch_mode(include_infra_modes=False)
    with pytest.raises(NotImplementedError, match="TorchDispatchMode has no __torch_dispatch__"), TorchDispatchMode():
        torch.ones(1)


def test_what_writes_to_a_wrapping_tensor_gives_that_tensor_back():
    class Wrapping(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        __torch_function__ = torch._C._disabled_torch_function_impl

        def __tensor_flatten__(self):
            return ["inner"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Wrapping(inner["inner"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            plain = [a.inner if isinstance(a, cls) else a for a in args]
            out = func(*plain, **(kwargs or {}))
            return return_and_correct_aliasing(func, args, kwargs, cls(out))

    x = Wrapping(torch.ones(2))
    assert x.mul_(3) is x and x.inner.tolist() == [3.0, 3.0] and (x + 1) is not x
    assert is_traceable_wrapper_subclass(x)
    twice = transform_subclass(x, lambda name, inner: inner * 2)
    assert type(twice) is Wrapping and twice.inner.tolist() == [6.0, 6.0]


def test_fillers_and_triton():
    from torch.utils._triton import has_triton

    assert not has_triton()
    torch.utils.deterministic.fill_uninitialized_memory = False
    assert torch.utils.deterministic.fill_uninitialized_memory is False
    torch.utils.deterministic.fill_uninitialized_memory = True
    with pytest.raises(TypeError, match="must be a bool, got int"):
        torch.utils.deterministic.fill_uninitialized_memory = 1


def test_a_function_has_a_default_device_of_its_own():
    from torch.utils._device import DeviceContext, _device_constructors, set_device

    @set_device("meta")
    def make():
        return torch.zeros(2), torch.tensor([1.0])

    assert {each.device.type for each in make()} == {"meta"} and torch.zeros(2).device.type == "cpu"
    with pytest.raises(KeyError), DeviceContext("meta") as context:
        assert context.device.type == torch.ones(1).device.type == "meta"
        raise KeyError
    assert torch.ones(1).device.type == "cpu"
    for make in _device_constructors() - {torch.as_tensor, torch.asarray}:
        assert callable(make)


def test_a_fetcher_of_ones_own_is_one_of_the_loaders_kind():
    from torch.utils.data._utils.fetch import _BaseDatasetFetcher, _IterableDatasetFetcher, _MapDatasetFetcher

    class Doubled(_BaseDatasetFetcher):
        def fetch(self, entry):
            return self.collate_fn([2 * self.dataset[i] for i in entry])

    assert Doubled([1, 2, 3], True, list, False).fetch([2, 0]) == [6, 2]
    fetchers = _MapDatasetFetcher([4, 5], True, list, False), _IterableDatasetFetcher([4, 5], True, list, False)
    assert [each.fetch([0, 1]) for each in fetchers] == [[4, 5], [4, 5]]
    assert all(isinstance(each, _BaseDatasetFetcher) and each.collate_fn is list for each in fetchers)
    with pytest.raises(NotImplementedError, match="_BaseDatasetFetcher|Fetcher.fetch"):
        _BaseDatasetFetcher([], True, list, False).fetch([0])
