"""What ends when nobody refers to it any more: graphs, and what hangs on tensors and graphs."""

import gc
import threading
import weakref

import pytest
import torch
from torch.autograd import _C, Function


class Mark:
    """Hangs on something and tells when that has gone."""


@pytest.fixture
def no_nodes_left():
    gc.collect()
    before = _C._live_nodes()
    yield
    gc.collect()
    assert _C._live_nodes() == before


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize(
    "function", [lambda x: x * x, lambda x: x.exp(), lambda x: torch.cat([x, x**2])[:2], Twice.apply]
)
def test_a_tensor_changed_in_place_by_what_was_computed_from_it_ends(no_nodes_left, function):
    x = leaf(1.0, 2.0) * 1
    x.add_(function(x))
    assert x.grad_fn.name() == "AddBackward0"
    del x
    buffer = torch.zeros(2)  # becomes part of the graph only then
    buffer += leaf(1.0, 2.0) * buffer
    del buffer
    base = leaf(1.0, 2.0, 3.0) * 1
    base[:2].add_(function(base[:2]))
    del base


@pytest.mark.parametrize("make", [lambda x: x * x, lambda x: Twice.apply(x) * x, lambda x: (x.exp() + x).sum()])
@pytest.mark.parametrize("is_leaf", [True, False])
def test_a_tensor_with_an_attribute_computed_from_it_is_found(no_nodes_left, make, is_leaf):
    x = leaf(1.0, 2.0) if is_leaf else leaf(1.0, 2.0) * 1
    x.mark = Mark()
    x.cache = {"result": make(x)}
    ref, mark = weakref.ref(x), weakref.ref(x.mark)
    del x
    gc.collect()
    assert ref() is None and mark() is None


def test_a_parameter_with_an_attribute_computed_from_it_is_found(no_nodes_left):
    class Weight(torch.Tensor):
        pass

    w = torch.Tensor._make_subclass(Weight, torch.ones(2), True)
    w.normal = w / (w * w).sum()
    ref = weakref.ref(w)
    del w
    gc.collect()
    assert ref() is None


def test_what_somebody_still_holds_is_left_alone():
    x = leaf(1.0, 2.0)
    x.mark = mark = Mark()
    x.cache = [x * x]
    y = x.cache[0]
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref().mark is mark and ref().cache[0] is y
    x = y.grad_fn.next_functions[0][0].variable
    assert x.mark is mark
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]
    del x
    gc.collect()
    assert ref().mark is mark
    z = y + 1  # another end of the same graph
    del y
    gc.collect()
    assert ref().cache[0].tolist() == [1, 4]
    del z
    gc.collect()
    assert ref() is None


def test_a_graph_with_two_ends_in_one_cycle_is_left_alone_while_one_is_held():
    x = leaf(1.0)
    x.first = x * 2
    x.second = x.first * 3
    x.first.mark = Mark()
    mark, second = weakref.ref(x.first.mark), x.second
    del x
    gc.collect()
    assert mark() is not None
    second.sum().backward()


def test_a_hook_deep_in_a_graph_that_refers_to_its_end_is_found(no_nodes_left):
    def make():
        x = leaf(1.0)
        h = x * 2
        for _ in range(10):
            h = h * h
        inner = h + 1
        y = inner.exp().sum()
        mark = Mark()
        inner.register_hook(lambda g, held=(): held if y is mark else None)
        return weakref.ref(mark)

    mark = make()
    gc.collect()
    assert mark() is None


def test_a_context_that_refers_to_its_result_is_found(no_nodes_left):
    class Remembers(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark = Mark()
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = Remembers.apply(leaf(1.0))
    z = y + 1
    y.grad_fn.result, mark = z, weakref.ref(y.grad_fn.mark)
    del y, z
    gc.collect()
    assert mark() is None


def test_the_collector_runs_beside_backward_passes():
    stop = threading.Event()
    errors = []

    def train():
        try:
            while not stop.is_set():
                x = leaf(*[1.0] * 50)
                x.mark = Mark()
                y = x
                for _ in range(50):
                    y = y * 1.01 + x
                y.register_hook(lambda g, y=y: None)
                y.sum().backward(retain_graph=True)
                y.sum().backward()
                assert isinstance(x.mark, Mark) and x.grad is not None
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=train) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(30):
        gc.collect()
    stop.set()
    for t in threads:
        t.join()
    assert not errors


def test_saved_leaves_of_a_function_are_themselves():
    class Sees(Function):
        @staticmethod
        def forward(ctx, w, x):
            ctx.save_for_backward(w, x)
            return w * x

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g, None

    seen = []
    w, x = leaf(1.0), torch.ones(1)
    x.name_of_mine = "x"
    Sees.apply(w, x).backward()
    assert seen[0] is w and seen[1] is x


def test_a_leaf_that_only_a_graph_holds_is_whole_when_a_weak_reference_gives_it_back():
    x = leaf(1.0, 2.0)
    x.mark = 1
    x.register_hook(lambda g: g * 10)
    y, ref = x * 2, weakref.ref(x)
    del x
    for _ in range(3):
        assert (ref() + 1).tolist() == [2, 3] and ref().mark == 1 and ref().detach().view(2, 1).shape == (2, 1)
        assert ref().requires_grad_() is ref()
    x = ref()
    y.sum().backward()
    assert x.grad.tolist() == [20, 20]
    del y
    gc.collect()
    assert x.requires_grad and x.mark == 1 and x.grad.tolist() == [20, 20]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [50, 50]
    y = x * 2
    del x
    y.sum().backward()
    assert y.grad_fn.next_functions[0][0].variable is ref() and ref().grad.tolist() == [70, 70]
    del y
    gc.collect()
    assert ref() is None


def test_a_leaf_that_only_a_graph_holds_becomes_a_result():
    x = leaf(1.0, 2.0)
    x.mark = 1
    w, ref = leaf(3.0, 4.0), weakref.ref(x)
    y = x * 2
    del x
    x = ref().requires_grad_(False)
    x.add_(w)
    x.sum().backward()
    y.sum().backward()
    assert w.grad.tolist() == [1, 1] and x.mark == 1 and x.tolist() == [4, 6]
    del x, y
    gc.collect()
    assert ref() is None
