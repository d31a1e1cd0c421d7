import gc
import weakref

import pytest
import torch
from torch.utils import set_module, swap_tensors
from torch.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_keys_are_compared_by_identity():
    a, b = torch.ones(2), torch.ones(2)
    table = WeakTensorKeyDictionary()
    table[a], table[b] = 1, 2
    assert (table[a], table[b], len(table)) == (1, 2, 2)
    assert a in table and torch.ones(2) not in table and 3 not in table
    assert table.copy() == table
    del table[a]
    assert list(table) == [b] or len(table) == 1
    with pytest.raises(KeyError):
        table[a]


def test_entries_go_with_their_keys():
    a, b = torch.ones(2), torch.ones(2)
    table = WeakIdKeyDictionary({})
    table[a], table[b] = "a", "b"
    del a
    gc.collect()
    assert [table[k] for k in table] == ["b"]
    assert len(table.keyrefs()) == 1


def test_references_of_dead_objects_are_equal_to_themselves_alone():
    a = torch.ones(1)
    first, second = WeakIdRef(a), WeakIdRef(a)
    assert first == second and hash(first) == hash(second)
    del a
    gc.collect()
    assert first() is None
    assert first == first and first != second


def test_a_weak_reference_of_a_tensor_gives_it_while_it_lives():
    a = torch.ones(1)
    ref = TensorWeakRef(a)
    assert ref() is a
    del a
    gc.collect()
    assert ref() is None
    with pytest.raises(TypeError, match="expected a Tensor, got int"):
        TensorWeakRef(3)


def test_swapped_tensors_hold_each_others_contents():
    a, b = torch.ones(2), torch.zeros(3, dtype=torch.int64)
    a.tag = "a"
    view = a[:1]
    swap_tensors(a, b)
    assert (a.tolist(), b.tolist()) == ([0, 0, 0], [1, 1])
    assert b.tag == "a" and not hasattr(a, "tag")
    view[0] = 5
    assert b.tolist() == [5, 1]
    gc.collect()
    assert b.tag == "a"


def test_swapped_tensors_change_classes_and_keep_gradients():
    nn = pytest.importorskip("torch.nn")
    p, t = nn.Parameter(torch.ones(2)), torch.zeros(1)
    (p * 3).sum().backward()
    swap_tensors(p, t)
    assert type(p) is torch.Tensor and isinstance(t, nn.Parameter)
    assert t.grad.tolist() == [3, 3] and t.requires_grad and not p.requires_grad
    swap_tensors(p, t)
    assert isinstance(p, nn.Parameter) and p.grad.tolist() == [3, 3]


def test_what_cannot_be_swapped_is_told():
    a, b = torch.ones(1), torch.zeros(1)
    ref = weakref.ref(a)
    with pytest.raises(RuntimeError, match="weak references cannot be swapped"):
        swap_tensors(a, b)
    assert ref() is a and a.item() == 1
    with pytest.raises(TypeError, match="expects two Tensors, got Tensor and int|got torch.Tensor and int"):
        swap_tensors(b, 3)


def test_an_object_may_say_that_it_is_from_another_module():
    def f():
        pass

    set_module(f, "torch.mine")
    assert f.__module__ == "torch.mine"
    with pytest.raises(TypeError, match="mod must be a str"):
        set_module(f, 3)
