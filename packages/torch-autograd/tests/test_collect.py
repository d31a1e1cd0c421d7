"""What ends when nobody refers to it any more: graphs, and what hangs on tensors and graphs."""

import gc
import threading
import time
import weakref

import pytest
import torch
from differentiability import DIFFERENTIABILITY
from operator_samples import Source, calls_of, in_place, name_of
from torch import _C as core
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


def test_a_parameter_of_a_class_of_its_own_is_found_through_the_attribute_of_an_attribute(no_nodes_left):
    class Weight(torch.Tensor):
        pass

    class Scaled(Weight):
        __slots__ = ("scale",)

    w = torch.Tensor._make_subclass(Scaled, torch.ones(4), True)
    w.scale = Mark()
    w.scale.normal = w / (w * w).sum()
    w.scale.normal.mark = w.mark = Mark()
    assert type(w.scale.normal) is Scaled
    ref, mark = weakref.ref(w), weakref.ref(w.mark)
    del w
    gc.collect()
    assert ref() is None and mark() is None


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


# --- recorded passes: what they saved ends with them


class Lent:
    """Leaves over memory of the test's own, which tells whether somebody still holds it."""

    def __init__(self):
        self.memory = []

    def leaf(self, x):
        if x.is_sparse or not x.numel() or not (x.is_floating_point() or x.is_complex()):
            return x
        self.memory.append(bytearray(x.numel() * x.element_size()))
        lent = torch.frombuffer(self.memory[-1], dtype=x.dtype).reshape(x.shape)
        return lent.copy_(x.detach()).requires_grad_()

    def held(self):
        count = 0
        for memory in self.memory:
            try:
                memory.append(0)  # refused while a tensor lies over it
            except BufferError:
                count += 1
        return count


def test_a_leaf_that_an_operator_saved_ends_after_a_recorded_pass():
    lent = Lent()
    x = lent.leaf(torch.ones(1000))
    torch.autograd.grad((x * x).sum(), x, create_graph=True)
    assert lent.held() == 1
    del x
    assert lent.held() == 0


def recorded_passes(operator, args, kwargs, nograd):
    lent = Lent()
    filled = [
        [lent.leaf(x) if isinstance(x, torch.Tensor) else x for x in a]
        if isinstance(a, (list, tuple)) and i not in nograd
        else lent.leaf(a)
        if isinstance(a, torch.Tensor) and i not in nograd
        else a
        for i, a in enumerate(args)
    ]
    leaves = [t for a in filled for t in (a if isinstance(a, list) else [a]) if getattr(t, "requires_grad", False)]
    leaves = [t for t in leaves if not t.is_sparse]
    results = operator(*filled, **kwargs)
    results = [results] if isinstance(results, torch.Tensor) else results
    results = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad and not r.is_sparse]
    if not results or not leaves:
        return lent
    for _ in range(2):
        seeds = [torch.ones_like(r) for r in results]
        try:
            grads = torch.autograd.grad(results, leaves, seeds, create_graph=True, allow_unused=True)
        except NotImplementedError:  # twice by the first argument of igamma
            break
        results = [g for g in grads if g is not None and g.requires_grad and not g.is_sparse]
        if not results:
            break
    return lent


@pytest.mark.parametrize(
    "schema", [s for s, how in DIFFERENTIABILITY.items() if how == "derivative" and not in_place(s)]
)
def test_inputs_of_every_row_end_after_recorded_passes(no_nodes_left, schema):
    for make in calls_of(schema):
        args, kwargs = make(Source(schema))
        nograd = kwargs.pop("nograd", ())
        kwargs.pop("outputs", None), kwargs.pop("seed", None)
        lent = recorded_passes(core._operator(name_of(schema)), args, kwargs, nograd)
        assert lent.held() == 0


def hung(ctx, y):
    ctx.y = y


def hung_in_a_list(ctx, y):
    ctx.kept = [{"y": (y,)}]


def hung_on_itself(ctx, y):
    y.ctx = ctx


@pytest.mark.parametrize("hang", [hung, hung_in_a_list, hung_on_itself])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("through", [lambda y: y, lambda y: y * 2, lambda y: y.mul_(2)])
def test_a_context_that_keeps_an_output_is_found(no_nodes_left, hang, outputs, through):
    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark = Mark()
            results = [x * (i + 2) for i in range(outputs)]
            for y in results:
                hang(ctx, y)
            return tuple(results)

        @staticmethod
        def backward(ctx, *grads):
            return sum(grads)

    def run():
        y = Keeps.apply(leaf(1.0, 2.0))[-1]
        mark = weakref.ref(y.grad_fn.mark)
        through(y)
        return mark

    mark = run()
    gc.collect()
    assert mark() is None


def test_a_buffer_written_to_through_a_view_is_found(no_nodes_left):
    class Keeps(Function):
        @staticmethod
        def forward(ctx, x, buffer):
            ctx.mark, ctx.buffer = Mark(), buffer
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, None

    def run(write):
        buffer = torch.zeros(4)
        y = Keeps.apply(leaf(1.0, 2.0), buffer)
        write(buffer, y)
        assert buffer.requires_grad
        return weakref.ref(y.grad_fn.mark)

    marks = [
        run(lambda b, y: b.__setitem__(slice(2), y)),
        run(lambda b, y: b[:2].copy_(y)),
        run(lambda b, y: b[:2].add_(y)),
    ]
    gc.collect()
    assert [m() for m in marks] == [None] * 3


# --- threads: nobody waits for the GIL with a lock


def in_threads(work, seconds=1.0, count=4):
    stop, errors = threading.Event(), []

    def run():
        try:
            while not stop.is_set():
                work()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for t in threads:
        t.start()
    time.sleep(seconds)
    stop.set()
    for t in threads:
        t.join(30)
    assert not any(t.is_alive() for t in threads), "deadlock"
    assert not errors, errors


def test_retained_gradients_with_attributes_end_in_threads():
    x = leaf(*[1.0] * 8)
    y = x * 2
    y.retain_grad()

    def work():
        y.backward(torch.ones(8), retain_graph=True)
        grad = y.grad
        if grad is not None:
            grad.mark = Mark()  # its end takes the GIL
        y.grad = None

    in_threads(work)


def test_gradients_of_leaves_with_attributes_end_in_threads():
    x = leaf(*[1.0] * 8)

    def work():
        (x * 2).sum().backward(create_graph=True)
        grad = x.grad
        if grad is not None:
            grad.mark = Mark()
        x.grad = None

    in_threads(work)


def test_views_of_bases_with_python_functions_are_refreshed_in_threads():
    base = Twice.apply(leaf(1.0, 2.0, 3.0)) * 1
    view = base[:2]
    lock = threading.Lock()

    def work():
        with lock:
            base.mul_(Twice.apply(leaf(1.0, 1.0, 1.0)))
            base.detach_() if base._version % 50 == 0 else None
        assert view.grad_fn is not None

    in_threads(work, seconds=0.5)


def test_metadata_and_nodes_in_threads():
    y = leaf(1.0) * 2
    refs = []

    def work():
        node = y.grad_fn
        node.metadata["k"] = [node.name()]
        refs.append(weakref.ref(node, lambda _: y.grad_fn.metadata))
        del node, refs[:]

    in_threads(work, seconds=0.5)


def test_an_unpack_hook_that_runs_backward_through_its_own_node_is_an_error():
    x = leaf(2.0)
    state = {}

    def unpack(t):
        state["y"].backward(retain_graph=True)
        return t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        state["y"] = x * x
    with pytest.raises(RuntimeError, match="mul.*started a backward pass through it again|MulBackward0"):
        state["y"].backward()


HOOKS = {
    "tensor of a leaf": lambda x, y, hook: x.register_hook(hook),
    "tensor": lambda x, y, hook: y.register_hook(hook),
    "after accumulation": lambda x, y, hook: x.register_post_accumulate_grad_hook(hook),
    "before a node": lambda x, y, hook: y.grad_fn.register_prehook(hook),
    "after a node": lambda x, y, hook: y.grad_fn.register_hook(hook),
}


@pytest.mark.parametrize("register", HOOKS.values(), ids=HOOKS)
def test_a_hook_that_knows_its_own_handle_ends(no_nodes_left, register):
    calls = Mark()
    calls.count = 0

    def once(*grads, calls=calls):
        calls.count += 1
        calls.handle.remove()

    x = leaf(1.0, 2.0)
    y = x * 2
    calls.handle = register(x, y, once)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert calls.count == 1
    calls.handle = register(x, y, once)  # never called
    gone = weakref.ref(calls)
    del calls, x, y, once
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("register", HOOKS.values(), ids=HOOKS)
def test_a_handle_keeps_nothing_and_may_be_used_after_the_end(no_nodes_left, register):
    x = leaf(1.0, 2.0)
    handle = register(x, x * 2, lambda *g: None)
    del x
    gc.collect()
    handle.remove()
    handle.remove()


def test_a_handle_finds_its_hook_on_a_leaf_that_came_back():
    x = leaf(1.0, 2.0)
    seen = []
    handle = x.register_hook(seen.append)
    x.mark, back = Mark(), weakref.ref(x)
    y = x * 2
    del x  # the graph keeps it
    x = back()
    del y  # and the leaf's node with the graph
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    assert [g.tolist() for g in seen] == [[3, 3]]


def test_a_leaf_that_is_a_view_of_what_was_computed_from_it_ends(no_nodes_left):
    base = torch.zeros(4)
    x = base[:2].requires_grad_()
    base[2:].mul_(x)
    base.sum().backward()
    assert x.grad.tolist() == [0, 0]
