"""Tensors of classes with __torch_dispatch__ in graphs, beneath which they stand."""

import torch
from torch import _dispatch
from torch._pytree import tree_map


class Wrapper(torch.Tensor):
    """A tensor around another one."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.shape, elem.stride(), dtype=elem.dtype, requires_grad=requires_grad
        )
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(str(func))
        out = func(*tree_map(_inner, args), **tree_map(_inner, kwargs or {}))
        if func._schema.is_mutable:
            return args[0]
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, out)


def _inner(x):
    assert not (isinstance(x, torch.Tensor) and x.requires_grad and not isinstance(x, Wrapper))
    return x.elem if isinstance(x, Wrapper) else x


seen: list = []


def test_gradients_are_of_the_class():
    w = Wrapper(torch.tensor([1.0, 2.0]), requires_grad=True)
    y = (w * w).exp().sum()
    assert type(y) is Wrapper and y.requires_grad
    seen.clear()
    y.backward()
    assert type(w.grad) is Wrapper and "aten.mul.Tensor" in seen
    x = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(w.grad.elem, 2 * x * (x * x).exp())


def test_second_gradients_and_views():
    w = Wrapper(torch.tensor([[1.0, 2.0]]), requires_grad=True)
    (g,) = torch.autograd.grad((w.t() ** 3).sum(), w, create_graph=True)
    assert type(g) is Wrapper
    torch.testing.assert_close(torch.autograd.grad(g.sum(), w)[0].elem, torch.tensor([[6.0, 12.0]]))


def test_changes_in_place_are_recorded():
    w = Wrapper(torch.ones(2), requires_grad=True)
    y = w * 1
    y.mul_(3)
    y.sum().backward()
    assert w.grad.elem.tolist() == [3.0, 3.0] and y.elem.tolist() == [3.0, 3.0]


def test_a_mode_stands_beneath_autograd_and_vmap():
    class Log:
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append((str(func), tuple(args[0].shape) if args and isinstance(args[0], torch.Tensor) else None))
            out = func(*args, **kwargs or {})
            assert not any(t.requires_grad for t in (out if isinstance(out, tuple) else (out,)))
            return out

    names = []
    x = torch.ones(3, 2, requires_grad=True)
    _dispatch.push(Log())
    try:
        y = torch.func.vmap(torch.sin)(x)
    finally:
        _dispatch.pop()
    assert names == [("aten.sin.default", (3, 2))] and y.requires_grad


def test_writes_to_views_are_recorded_beneath_a_mode_that_keeps_results():
    class Keeping:
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kept.append(func(*args, **kwargs or {}))
            return kept[-1]

    kept: list = []
    x = torch.ones(3, 2, requires_grad=True)
    _dispatch.push(Keeping())
    try:
        y = x.clone()
        row = y[0]
        row.mul_(3)
        y[1] = 0
        parts = y.view(6).unsqueeze(0)
        (gradient,) = torch.autograd.grad(parts.sum(), x)
    finally:
        _dispatch.pop()
    assert row._base is y
    assert gradient.tolist() == [[3, 3], [0, 0], [1, 1]]


def test_nothing_is_left_of_a_graph_of_wrappers():
    from torch.autograd import _C

    before = _C._live_nodes() if hasattr(_C, "_live_nodes") else None
    for _ in range(3):
        w = Wrapper(torch.ones(2), requires_grad=True)
        w.exp().sum().backward()
    del w
    import gc

    gc.collect()
    if before is not None:
        assert _C._live_nodes() <= before


def test_operators_record_again_where_a_mode_says_so():
    class Doubled:
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if str(func) == "aten.sin.default":
                with torch.overrides.enable_reentrant_dispatch(), torch.enable_grad():
                    x = args[0].detach().requires_grad_()
                    (slope,) = torch.autograd.grad(torch.exp(x).sum(), x)
                    return slope
            return func(*args, **kwargs or {})

    _dispatch.push(Doubled())
    try:
        y = torch.zeros(2).sin()
    finally:
        _dispatch.pop()
    assert y.tolist() == [1.0, 1.0]


def test_a_result_that_a_class_marks_as_requiring_gradients_has_the_place_of_its_operator():
    class Marked(torch.Tensor):
        @staticmethod
        def __new__(cls, held):
            return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, requires_grad=True)

        def __init__(self, held):
            self.held = held

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            plain = [a.held if isinstance(a, Marked) else a for a in args]
            return Marked(func(*plain, **(kwargs or {})))

    x = Marked(torch.ones(3))
    y = x * 2
    assert type(y) is Marked and y.grad_fn.name() == "MulBackward0" and not y.is_leaf
    for plain in (x.detach(), x.data):
        assert type(plain) is Marked and plain.is_leaf and not plain.requires_grad
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert grad.held.tolist() == [2, 2, 2]
