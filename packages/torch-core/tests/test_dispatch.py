"""__torch_dispatch__ of classes and modes, beneath everything else."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import _dispatch
from torch._pytree import tree_map

aten = torch.ops.aten


class Mode:
    """As torch.utils._python_dispatch.TorchDispatchMode, which is another distribution's."""

    def __enter__(self):
        _dispatch.push(self)
        return self

    def __exit__(self, *error):
        _dispatch.pop()


class Log(Mode):
    def __init__(self):
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, types, args, kwargs))
        return func(*args, **kwargs)

    names = property(lambda self: [str(func) for func, *_ in self.calls])


class Wrapper(torch.Tensor):
    """A tensor around another one, which does all the work."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    seen: list = []

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, inner.stride(), dtype=inner.dtype, device=inner.device
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        out = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
        if any(a.is_write for a in func._schema.arguments):
            return args[0]
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, out)


def _inner(x):
    return x.inner if isinstance(x, Wrapper) else x


@pytest.fixture(autouse=True)
def forget():
    Wrapper.seen.clear()


# --- modes ---


def test_a_mode_gets_every_operator_with_its_arguments():
    x = torch.ones(2, 3)
    with Log() as log:
        y = x.sum(0, keepdim=True) * 2
    assert y.tolist() == [[4.0] * 3] and log.names == ["aten.sum.dim_IntList", "aten.mul.Tensor"]
    assert log.calls[0] == (aten.sum.dim_IntList, (), (x, [0], True), {}) and log.calls[1][2][1] == 2


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x == 1, "eq.Scalar"), (lambda x: x == x, "eq.Tensor"), (lambda x: x**2, "pow.Tensor_Scalar"),
        (lambda x: 2**x, "pow.Scalar"), (lambda x: x / 2, "div.Tensor"), (lambda x: x @ x, "mm.default"),
        (lambda x: x @ x[0], "mv.default"), (lambda x: x.max(0), "max.dim"), (lambda x: x.max(), "max.default"),
        (lambda x: torch.div(x, 2, rounding_mode="floor"), "div.Tensor_mode"), (lambda x: x[0], "select.int"),
        (lambda x: torch.empty(2), "empty.memory_format"), (lambda x: x.transpose(0, 1), "transpose.int"),
        (lambda x: torch.zeros_like(x), "zeros_like.default"), (lambda x: x.double(), "_to_copy.default"),
        (lambda x: torch.where(x > 0, x, x), "where.self"), (lambda x: x.fill_(1), "fill_.Scalar"),
    ],
)  # fmt: skip
def test_overloads_are_called_as_programs_know_them(call, name):
    with Log() as log:
        call(torch.ones(2, 2))
    assert log.names[-1] == f"aten.{name}"
    packet, overload = name.split(".")
    assert log.calls[-1][0] is getattr(getattr(aten, packet), overload)


def test_a_mode_may_answer_in_place_of_the_operator():
    class Seven(Mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **kwargs) * 0 + 7 if func is aten.exp.default else func(*args, **kwargs)

    with Seven():
        assert torch.ones(2).exp().tolist() == [7.0, 7.0]
    assert torch.zeros(2).exp().tolist() == [1.0, 1.0]


def test_modes_nest_and_the_outer_one_sees_what_the_inner_one_calls():
    with Log() as outer, Log() as inner:
        torch.ones(1).neg()
    assert inner.names == outer.names == ["aten.ones.default", "aten.neg.default"]
    with Log() as outer, _dispatch.without_modes() as modes:
        torch.ones(1)
        assert modes == [outer]
    assert outer.calls == [] and _dispatch.modes() == []


def test_a_mode_that_raises_leaves_nothing_behind():
    class Broken(Mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ZeroDivisionError(str(func))

    with pytest.raises(ZeroDivisionError, match="aten.ones.default"), Broken():
        torch.ones(1)
    assert torch.ones(1).tolist() == [1.0] and _dispatch.modes() == []


def test_several_results_and_lists():
    with Log() as log:
        values, indices = torch.tensor([3.0, 1.0]).sort()
        parts = torch.arange(4).split(2)
        joined = torch.cat(parts)
    assert values.tolist() == [1.0, 3.0] and indices.tolist() == [1, 0] and joined.tolist() == [0, 1, 2, 3]
    assert [len(a) for _, _, a, _ in log.calls] == [1, 1, 1, 2, 1]
    assert log.calls[-1][2][0] == list(parts) or isinstance(log.calls[-1][2][0], list)


def test_a_result_that_is_none_of_the_operators_is_refused():
    class Wrong(Mode):
        def __init__(self, answer):
            self.answer = answer

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return self.answer

    x = torch.ones(2)
    with (
        pytest.raises(TypeError, match="exp: __torch_dispatch__ must return a Tensor, as the operator does, not int"),
        Wrong(3),
    ):
        x.exp()
    for wrong, kind in (("text", "str"), ([x, 3], "int"), ([None], "NoneType")):
        with pytest.raises(TypeError, match=f"split: .* return a sequence of Tensors, .* not {kind}"), Wrong(wrong):
            x.split(1)
    with pytest.raises(TypeError, match="sort: __torch_dispatch__ must return a tuple of 2"), Wrong((x,)):
        x.sort()
    with (
        pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"),
        Wrong(NotImplemented),
    ):
        x.exp()


# --- classes ---


def test_a_class_computes_with_what_it_wraps():
    w = Wrapper(torch.tensor([1.0, 2.0]))
    y = (w * 3 + torch.ones(2)).sum()
    assert type(y) is Wrapper and y.inner.item() == 11.0
    assert Wrapper.seen == ["aten.mul.Tensor", "aten.add.Tensor", "aten.sum.default"]


def test_a_class_changes_in_place_what_it_wraps():
    w = Wrapper(torch.ones(2))
    assert w.add_(2) is w and w.inner.tolist() == [3.0, 3.0]


def test_a_tensor_without_memory_has_none():
    w = Wrapper(torch.ones(2, 3))
    assert w.shape == (2, 3) and w.stride() == (3, 1) and torch._C._is_hollow(w)
    assert repr(w) == "Wrapper(..., size=(2, 3), dtype=torch.float32, device='cpu')"
    for ask in (w.numpy, w.tolist, w.data_ptr, w.storage):
        with pytest.raises(RuntimeError, match="doesn't have storage"):
            ask()
    with torch._C._DisableTorchDispatch(), pytest.raises(RuntimeError, match="was not asked"):
        w + 1
    assert type(w + 1) is Wrapper


def test_the_number_of_a_tensor_without_memory_is_asked_of_its_class():
    w = Wrapper(torch.tensor(3.5))
    assert w.item() == 3.5 and float(w) == 3.5 and int(w) == 3 and bool(w > 2)
    assert "aten._local_scalar_dense.default" in Wrapper.seen
    with torch._C._DisableTorchDispatch(), pytest.raises(RuntimeError, match="was not asked"):
        w.item()

    class Wrong(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return "three"

    with pytest.raises(TypeError, match="must return a number, not str"):
        Wrong(torch.tensor(3.5)).item()


def test_a_class_over_data_may_leave_operators_as_they_are():
    class Named(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with torch._C._DisableTorchDispatch():
                return func(*args, **kwargs)

    x = torch.Tensor._make_subclass(Named, torch.ones(2))
    assert type(x + 1) is torch.Tensor and (x + 1).tolist() == [2.0, 2.0] and x.view(2, 1).exp().shape == (2, 1)


def test_the_derived_class_is_asked_first():
    class Loud(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            assert types == (Loud, Wrapper)
            return NotImplemented

    w = Wrapper(torch.ones(1))
    assert type(w + Loud(torch.ones(1))) is Wrapper


def test_wrappers_are_made_of_classes_that_answer():
    with pytest.raises(RuntimeError, match="must be a subclass of Tensor with a __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(type("Plain", (torch.Tensor,), {}), (2,))
    with pytest.raises(RuntimeError, match="negative"):
        torch.Tensor._make_wrapper_subclass(Wrapper, (-2,))
    with pytest.raises(RuntimeError, match="2 sizes and 1 strides"):
        torch.Tensor._make_wrapper_subclass(Wrapper, (2, 2), (1,))


# --- operators of torch.ops ---


def test_an_overload_says_what_it_is():
    op = aten.add.Tensor
    assert op is aten.add.Tensor and op.overloadpacket is aten.add and op.name() == "aten::add.Tensor"
    assert str(op) == "aten.add.Tensor" and repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert [a.name for a in op._schema.arguments] == ["self", "other", "alpha"] and op._schema.arguments[2].kwarg_only
    assert str(op._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert isinstance(op, torch._ops.OpOverload) and isinstance(aten.add, torch._ops.OpOverloadPacket)
    assert aten.add_.Tensor._schema.is_mutable and aten.add_.Tensor._schema.arguments[0].alias_info.is_write
    assert aten.transpose.int.is_view and not op.is_view
    assert aten.add(torch.ones(1), 1).item() == op(torch.ones(1), 1).item() == 2


# --- fake tensors ---


def test_fake_tensors_have_shapes_and_devices_of_their_own():
    from torch._subclasses import FakeTensor, FakeTensorMode

    before = torch.tensor([1.0, 2.0])
    with FakeTensorMode() as mode:
        x = torch.empty(4, 3, device="cuda")
        y = (x.t() @ x).relu()
        assert type(y) is FakeTensor and y.shape == (3, 3) and y.device == torch.device("cuda", 0)
        assert torch.zeros_like(x).device.type == "cuda" and x.add_(1) is x
        with pytest.raises(AssertionError, match="convert all Tensors to FakeTensors first"):
            before + 1
        assert type(torch.tensor([1.0, 2.0]) + 1) is FakeTensor and torch.tensor(2.0).item() == 2
        with pytest.raises(RuntimeError, match="two different devices"):
            x + torch.empty(4, 3)
    real = mode.from_tensor(torch.ones(2, dtype=torch.float64))
    assert (
        type(real * 2) is FakeTensor and real.dtype == torch.float64 and repr(real).startswith("FakeTensor(..., size=(")
    )


def test_modes_see_the_operator_beneath_softmax():
    seen = []

    class Seeing(Mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), args[1:], kwargs))
            return func(*args, **(kwargs or {}))

    x = torch.randn(2, 3)
    with Seeing():
        y, z, wide = x.softmax(1), torch.log_softmax(x, 0), x.softmax(0, torch.float64)
    assert torch.equal(y, x.softmax(1)) and torch.equal(z, x.log_softmax(0)) and wide.dtype == torch.float64
    assert seen[:2] == [("aten._softmax.default", (1, False), {}), ("aten._log_softmax.default", (0, False), {})]
    assert seen[2][0] == "aten.softmax.int"


def test_a_wrapper_is_copied_and_pickled_with_what_it_is_made_of():
    w = Wrapper(torch.arange(6.0).reshape(2, 3))
    w.scale = 0.5
    for again in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert type(again) is Wrapper and again.shape == (2, 3) and again.stride() == (3, 1) and again.scale == 0.5
        assert torch._C._is_hollow(again) and again.inner.equal(w.inner)
        again.inner.zero_()
        assert w.inner.sum() == 15
    shallow = copy.copy(w)
    assert type(shallow) is Wrapper and shallow.inner is w.inner
    twice = copy.deepcopy([w, w.inner])
    assert twice[0].inner is twice[1]


def test_the_state_of_an_object_is_taken_and_set():
    from torch._utils import _get_obj_state, _rebuild_wrapper_subclass, _set_obj_state

    class Slotted:
        __slots__ = ("__dict__", "a")

    obj = Slotted()
    obj.a, obj.b = 1, 2
    assert _get_obj_state(obj) == ({"b": 2}, {"a": 1})
    again = _set_obj_state(Slotted(), _get_obj_state(obj))
    assert (again.a, again.b) == (1, 2)
    with pytest.raises(RuntimeError, match="a tuple of 3"):
        _set_obj_state(again, (1, 2, 3))
    made = _rebuild_wrapper_subclass(Wrapper, torch.float64, (2,), (1,), 0, torch.strided, "cpu", False)
    assert type(made) is Wrapper and made.shape == (2,) and made.dtype == torch.float64


def test_modes_see_tensors_made_of_data_and_numbers_that_are_read():
    pytest.importorskip("torch.autograd")
    seen = []

    class Doubling(Mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), args[0].requires_grad))
            return func(args[0] * 2) if func is aten.lift_fresh.default else func(*args, **(kwargs or {}))

    array, x = np.ones(2), torch.ones(3)
    with Doubling():
        made = [torch.tensor([1.0], requires_grad=True), torch.as_tensor([1.0]), torch.asarray([1.0]), torch.from_numpy(array),
                torch.Tensor([1.0]), x.new_tensor([1.0])]  # fmt: skip
        assert torch.as_tensor(x) is x
    assert seen == [("aten.lift_fresh.default", False)] * 6 and made[0].requires_grad and made[0].is_leaf
    assert all(t.unique().tolist() == [2.0] for t in made)
    seen.clear()
    number = torch.tensor(3)
    with Doubling():
        assert number.item() == int(number) == float(number) == 3 and bool(number) and [1, 2, 3, 4][number] == 4
    assert seen == [("aten._local_scalar_dense.default", False)] * 5
    assert (
        aten.lift_fresh(x) is x
        and str(aten.lift_fresh.default._schema) == "aten::lift_fresh(Tensor(a) self) -> Tensor(a)"
    )


def test_gradients_of_convolutions_are_asked_for_as_programs_that_differentiate_by_themselves_do():
    x, w, g = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3), torch.randn(2, 4, 5, 5)
    how = {
        "stride": [1, 1],
        "padding": [1, 1],
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": 1,
    }
    row = torch._C._operator("convolution_backward")(g, x, w, *how.values(), True, True, True)
    for mask in ((True, False, True), (False, True, False)):
        for got in (
            aten.convolution_backward(g, x, w, None, *how.values(), mask),
            aten.convolution_backward(output_mask=mask, grad_output=g, input=x, weight=w, bias_sizes=[4], **how),
        ):
            assert [t is not None for t in got] == list(mask)
            assert all(t is None or torch.equal(t, expected) for t, expected in zip(got, row, strict=True))
    assert torch.equal(aten.convolution_backward.default(g, x, w, *how.values(), True, True, True)[0], row[0])
    with Log() as log:
        aten.convolution_backward(g, x, w, None, *how.values(), [True, True, True])
    assert str(log.calls[0][0]) == "aten.convolution_backward.default"


class Passing(torch.Tensor):
    """Hands each call on to Tensor, as a class does that looks only."""

    seen = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func)
        return super().__torch_dispatch__(func, types, list(args), kwargs)


def test_a_class_hands_a_call_on_to_tensor():
    x, out = torch.arange(3.0).as_subclass(Passing), torch.empty(3)
    Passing.seen.clear()
    both = torch.add(x, 1), torch.cat([x, x]), x.view(3, 1), torch.add(x, x, out=out)
    assert Passing.seen[:3] == [aten.add.Tensor, aten.cat.default, aten.view.default] and len(Passing.seen) == 4
    assert all(type(t) is torch.Tensor for t in both)
    assert [t.flatten().tolist() for t in both] == [[1, 2, 3], [0, 1, 2, 0, 1, 2], [0, 1, 2], [0, 2, 4]]
    assert type(x.mul_(2)) is Passing and torch.equal(both[2] + 0, torch.tensor([[0.0], [2.0], [4.0]]))


@pytest.mark.parametrize("call", [lambda t: t + 1, lambda t: torch.cat([t]), lambda t: torch.add(t, 1, out=t)])
def test_what_has_no_memory_is_not_handed_on(call):
    hollow = torch.Tensor._make_wrapper_subclass(Passing, (3,))
    with pytest.raises(RuntimeError, match="a Passing made by _make_wrapper_subclass has no memory"):
        call(hollow)
