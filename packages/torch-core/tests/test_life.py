"""A tensor's Python object lives as long as the tensor when it has anything to lose: attributes, a class, references."""

import gc
import subprocess
import sys
import threading
import weakref

import pytest
import torch


class Named(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl  # views are plain tensors
    __slots__ = ("name",)
    ended = []

    def __del__(self):
        Named.ended.append(getattr(self, "name", None))


def held_by_a_view(x):
    """A view of x: only C++ holds x when the caller lets go of it."""
    return x.view(-1)


def test_a_collected_cycle_leaves_the_attributes_of_a_tensor_that_a_view_holds():
    class Owner:
        pass

    gc.collect()
    views, ends = [], []
    for tensor_first in (False, True):  # the collector clears what was made first before the other
        x, owner = (torch.ones(2), Owner())
        if tensor_first:
            x.tag = "kept"
        owner.itself = owner
        x.tag = "kept"
        owner.tensor = x
        views.append(held_by_a_view(x))
        ends.append(weakref.ref(owner))
    del x, owner
    gc.collect()
    assert [view._base.tag for view in views] == ["kept", "kept"]
    assert [end() for end in ends] == [None, None]


def test_attributes_survive_while_only_a_view_holds_the_tensor():
    x = torch.ones(2)
    x.tag = ["kept"]
    tag, view = x.tag, held_by_a_view(x)
    del x
    gc.collect()
    assert view._base.tag is tag
    first = view._base
    assert first is view._base and view._base.tag is tag
    first.more = 1
    del first
    assert view._base.more == 1


def test_attributes_end_with_the_last_handle_of_the_tensor():
    class Tag:
        pass

    x = torch.ones(2)
    x.tag = Tag()
    ended = weakref.ref(x.tag)
    view = held_by_a_view(x)
    del x
    assert ended() is not None
    del view
    assert ended() is None


def test_weak_references_stay_while_the_tensor_does():
    x = torch.ones(2)
    log = []
    ref = weakref.ref(x, lambda r: log.append("gone"))
    view = held_by_a_view(x)
    address = id(x)
    del x
    assert id(ref()) == address and ref() is view._base and not log
    del view
    assert ref() is None and log == ["gone"]


def test_a_subclass_keeps_its_class_slots_and_finalizer():
    Named.ended.clear()
    x = torch.Tensor._make_subclass(Named, torch.ones(2))
    x.name, x.extra = "x", "in the dict"
    view = held_by_a_view(x)
    for _ in range(3):  # it can go and come back any number of times
        del x
        gc.collect()
        x = view._base
        assert type(x) is Named and x.name == "x" and x.extra == "in the dict" and not Named.ended
    del x
    assert not Named.ended
    del view
    assert Named.ended == ["x"]


def test_a_finalizer_may_keep_the_tensor():
    kept = []

    class Phoenix(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl  # views are plain tensors

        def __del__(self):
            kept.append(self)

    x = torch.Tensor._make_subclass(Phoenix, torch.ones(2))
    x.note = 1
    view = held_by_a_view(x)
    del x
    del view
    assert kept[0].note == 1 and kept[0].tolist() == [1, 1]


def test_a_plain_tensor_leaves_nothing_behind():
    x = torch.ones(2)
    view = held_by_a_view(x)
    storage = x.untyped_storage()
    held = storage._use_count()
    del x
    assert storage._use_count() == held  # the view's base
    del view
    assert storage._use_count() == 1
    assert not any(
        hasattr(torch.ones(1), name) for name in ("tag", "note")
    )  # the next objects start without attributes


def test_the_collector_leaves_a_cycle_that_a_view_still_needs_alone():
    x = torch.ones(2)
    x.me, x.friends = x, [{"x": x}]
    ref, view = weakref.ref(x), held_by_a_view(x)
    del x
    gc.collect()
    assert ref() is not None and view._base.me is view._base and view._base.friends[0]["x"] is view._base
    del view
    gc.collect()
    assert ref() is None


def test_the_collector_sees_through_slots_of_a_subclass():
    x = torch.Tensor._make_subclass(Named, torch.ones(2))
    x.name = [x]
    ref, view = weakref.ref(x), held_by_a_view(x)
    del x
    gc.collect()
    assert view._base.name[0] is view._base
    del view
    gc.collect()
    assert ref() is None


def test_a_long_chain_of_attributes_ends_without_recursion():
    class Link(torch.Tensor):
        __slots__ = ("next",)

    first = torch.ones(1)
    for _ in range(50_000):
        x = torch.ones(1)
        x.next, first = first, x
    del first, x
    first = torch.Tensor._make_subclass(Link, torch.ones(1))
    for _ in range(50_000):
        x = torch.Tensor._make_subclass(Link, torch.ones(1))
        x.next, first = first, x
    del first, x


def test_objects_go_and_come_back_in_many_threads():
    x = torch.ones(20_000)  # big enough for operators to run without the GIL
    x.tag = "kept"
    views, wrong = [x.view(-1) for _ in range(4)], []
    del x

    def work(view):
        for _ in range(300):
            if view._base.tag != "kept" or (view + view)[0].item() != 2:
                wrong.append(1)
            gc.collect(0)

    threads = [threading.Thread(target=work, args=(v,)) for v in views]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and views[0]._base.tag == "kept"


@pytest.mark.parametrize("end", ["", "import os, gc; gc.disable()", "import sys; sys.exit(0)"])
def test_the_interpreter_ends_cleanly_while_c_holds_objects(end):
    program = f"""
import threading, time, torch
class Kept(torch.Tensor):
    def __del__(self): self.sum()
x = torch.Tensor._make_subclass(Kept, torch.ones(2)); x.me = x; x.tag = object()
view = x.view(-1); del x
def late():
    y = torch.ones(30_000); y.tag = 1; z = y.view(-1); del y
    while True: z + z
threading.Thread(target=late, daemon=True).start()
time.sleep(0.05)
{end}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_object_takes_the_class_of_any_of_its_bases_whichever_were_used_before():
    for used in range(3):

        class Base(torch.Tensor):
            pass

        class Mixin:
            pass

        class Middle(Mixin, Base):
            pass

        class Last(Middle):
            pass

        classes = [Base, Middle, Last]
        kept = torch.Tensor._make_subclass(classes[used], torch.ones(1))
        for before in reversed(classes):
            for after in classes:
                tensor = torch.Tensor._make_subclass(before, torch.arange(3.0))
                tensor.note = [tensor]  # a cycle, for the collector
                tensor.__class__ = after
                assert type(tensor) is after
                assert tensor.sum().item() == 3.0
                del tensor
                tensor = torch.arange(3.0)
                tensor.__class__ = after
                assert type(tensor) is after and tensor.sum().item() == 3.0
                tensor.__class__ = torch.Tensor
                assert type(tensor + 1) is torch.Tensor
        gc.collect()
        assert type(kept) is classes[used]


def test_calls_follow_the_class_that_an_object_is_given():
    asked = []

    class Asking(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    tensor = torch.ones(2)
    tensor.__class__ = Asking
    assert type(tensor + 1) is Asking and asked == [torch.Tensor.add]
    tensor.__class__ = torch.Tensor
    assert type(tensor + 1) is torch.Tensor and len(asked) == 1
    del tensor
    gc.collect()
