"""__torch_function__: subclasses keep their class, foreign objects take part, modes see all calls."""

import threading

import pytest
import torch
from torch import overrides


class Plain(torch.Tensor):
    """Defines nothing."""


class Log(torch.Tensor):
    """Writes down what is called."""

    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func.__name__, types, len(args), sorted(kwargs or ())))
        return super().__torch_function__(func, types, args, kwargs)


class Foreign:
    """No tensor at all."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types, args, kwargs


class Never:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


CALLS = {
    "operator with a number": lambda x: x + 1,
    "number first": lambda x: 2 - x,
    "two of them": lambda x: x * x,
    "plain tensor first": lambda x: torch.ones(2, 2) * x,
    "comparison": lambda x: x > 0,
    "unary operator": lambda x: -x,
    "method": lambda x: x.add(1),
    "function": lambda x: torch.exp(x),
    "in place": lambda x: x.mul_(2),
    "operator in place": lambda x: x.__iadd__(1),
    "product": lambda x: x @ torch.ones(2, 2),
    "index": lambda x: x[0],
    "slice": lambda x: x[:, 1:],
    "mask": lambda x: x[torch.ones(2, 2) > 0],
    "list of tensors": lambda x: torch.cat([torch.ones(1, 2), x]),
    "conversion": lambda x: x.to(torch.float64),
    "view": lambda x: x.T,
    "keyword": lambda x: torch.sum(input=x, dim=0),
    "composed": lambda x: torch.cdist(x, x),
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("cls", [Plain, Log])
def test_subclasses_keep_their_class_and_compute_the_same(name, cls):
    base = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = CALLS[name](base.clone())
    result = CALLS[name](base.clone().as_subclass(cls))
    assert type(result) is cls and type(expected) is torch.Tensor
    assert result.tolist() == expected.tolist() and result.dtype == expected.dtype


def test_tuples_and_lists_of_results_keep_the_class():
    x = torch.arange(6.0).as_subclass(Plain)
    assert [type(t) for t in x.split(2)] == [Plain] * 3
    largest = x.max(0)
    assert type(largest) is type(torch.arange(6.0).max(0)) and type(largest.values) is Plain and largest.indices == 5
    assert [type(t) for t in x.reshape(2, 3)] == [Plain] * 2


def test_what_is_no_tensor_stays_what_it_is():
    x = torch.ones(2).as_subclass(Plain)
    assert x.sum().item() == 2.0 and type(x.shape) is torch.Size and x.tolist() == [1, 1] and torch.equal(x, x) is True


def test_an_override_gets_the_function_the_types_and_the_arguments():
    Log.calls.clear()
    x = torch.ones(2, 2).as_subclass(Log)
    torch.sum(x, dim=0)
    x[0] = 5
    torch.add(torch.ones(2, 2), x, alpha=2)
    assert Log.calls == [("sum", (Log,), 1, ["dim"]), ("__setitem__", (Log,), 3, []), ("add", (Log,), 2, ["alpha"])]
    assert x.tolist() == [[5, 5], [1, 1]]
    torch.ones(2) + 1
    assert len(Log.calls) == 3


def test_results_in_out_are_seen():
    Log.calls.clear()
    out = torch.zeros(2).as_subclass(Log)
    assert torch.add(torch.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
    assert [c[0] for c in Log.calls] == ["add"]


def test_a_class_of_a_class_goes_first_and_foreign_classes_are_asked_in_order():
    asked = []

    class Lower(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls)
            return NotImplemented

    class Upper(Lower):
        pass

    low, up = torch.ones(1).as_subclass(Lower), torch.ones(1).as_subclass(Upper)
    name, types, args, kwargs = torch.cat([low, up, Foreign()], dim=0)
    assert asked == [Upper, Lower] and types == (Upper, Lower, Foreign) and name == "cat" and kwargs == {"dim": 0}


@pytest.mark.parametrize(
    "call",
    [
        lambda f: torch.add(torch.ones(2), f),
        lambda f: torch.ones(2) + f,
        lambda f: torch.ones(2).add_(f),
        lambda f: f @ torch.ones(2) if hasattr(f, "__matmul__") else torch.matmul(f, torch.ones(2)),
        lambda f: torch.stack((torch.ones(2), f)),
        lambda f: torch.sum(f, dim=0),
        lambda f: torch.max(f, 0),
        lambda f: torch.add(1, 2, out=f),
        lambda f: torch.ones(2) == f,
    ],
)
def test_foreign_objects_take_part(call):
    name, types, args, kwargs = call(Foreign())
    assert types == (Foreign,) and name in ("add", "add_", "matmul", "stack", "sum", "max", "eq")


def test_operators_of_the_language_that_a_class_has_go_first():
    class Symbol(Foreign):
        def __rsub__(self, other):
            return "rsub"

        def __gt__(self, other):
            return "gt"

    x = torch.ones(2)
    assert x - Symbol() == "rsub" and (x < Symbol()) == "gt" and (x + Symbol())[0] == "add"
    x -= Symbol()
    assert x[0] == "sub_"


def test_keys_and_values_of_indexing_take_part():
    x = torch.zeros(2)
    for key in (Foreign(), (Foreign(), 0), [Foreign()]):
        assert x[key][0] == "__getitem__" and x[key][2] == (x, key)

    class Written(Foreign):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append((func.__name__, types, args[1]))

    x[0] = Written()
    x[Written()] = 1.0
    assert [call[:2] for call in Written.calls] == [("__setitem__", (Written,))] * 2 and Written.calls[0][2] == 0
    assert x.tolist() == [0.0, 0.0]
    plain = torch.tensor([1]).as_subclass(Log)
    Log.calls.clear()
    assert type(x[plain]) is Log and Log.calls[0][0] == "__getitem__"


def test_of_an_operator_of_the_language_that_all_decline_the_other_operand_is_asked():
    class Declining(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Right(Never):
        def __rpow__(self, other):
            return "rpow"

        def __radd__(self, other):
            return "radd"

        def __gt__(self, other):
            return "gt"

    for x in (torch.ones(2), torch.ones(2).as_subclass(Declining)):
        assert x ** Right() == "rpow" and x + Right() == "radd" and (x < Right()) == "gt"
    x = torch.ones(2)
    x += Right()
    assert x == "radd"
    declined = torch.ones(2).as_subclass(Declining)
    for call in (lambda: declined + 1, lambda: 1 + declined, lambda: declined < 1, lambda: torch.ones(2) * Right()):
        with pytest.raises(TypeError, match="unsupported operand|not supported between"):
            call()
    assert (declined == 1) is False and (declined != 1) is True  # as Python compares what does not know each other


def test_other_objects_are_refused_as_before():
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.matmul(torch.ones(2), object())
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2) + object()


def test_when_nobody_implements_a_call_the_error_names_all():
    with pytest.raises(TypeError, match="no implementation found for 'torch.add'.*Never"):
        torch.add(torch.ones(2), Never())
    with pytest.raises(TypeError, match="Never"):
        torch.ones(2).as_subclass(Plain) * Never()


def test_an_error_in_an_override_passes_and_leaves_nothing_behind():
    class Raises(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.exp:
                raise KeyError("not that one")
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(2).as_subclass(Raises)
    with pytest.raises(KeyError, match="not that one"):
        torch.exp(x)
    assert type(x + 1) is Raises
    with pytest.raises(RuntimeError):
        torch.ones(3).as_subclass(Plain) + torch.ones(2)
    assert type(torch.ones(2).as_subclass(Plain) + 1) is Plain


def test_disabled_classes_and_blocks():
    class Silent(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert type(torch.ones(2).as_subclass(Silent) + 1) is torch.Tensor
    x = torch.ones(2).as_subclass(Log)
    Log.calls.clear()
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor and not overrides.has_torch_function((x,))
        with torch._C._EnableTorchFunction():
            assert type(x + 1) is Log
    assert len(Log.calls) == 1 and overrides.has_torch_function_unary(x)


class Names(overrides.TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_all_calls_of_its_thread():
    with Names() as mode:
        x = torch.zeros(2) + 1
        x[0] = 2.0
        x.sum()
        thread = threading.Thread(target=lambda: torch.exp(torch.ones(1)))
        thread.start()
        thread.join()
        with torch._C.DisableTorchFunctionSubclass():
            x.exp()
        with torch._C.DisableTorchFunction():
            x.sin()
    x.cos()
    assert mode.names == ["zeros", "add", "__setitem__", "sum", "exp"]


def test_modes_nest_and_the_inner_one_calls_through_the_outer():
    with Names() as outer, Names() as inner:
        torch.ones(1)
        with overrides.BaseTorchFunctionMode():
            torch.zeros(1)
    assert inner.names == outer.names == ["ones", "zeros"]
    with pytest.raises(ValueError, match="stop"), Names():
        raise ValueError("stop")
    assert overrides._get_current_function_mode() is None


def test_a_mode_that_changes_results_and_a_mode_before_classes():
    class Zero(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 0 if func is torch.exp else func(*args, **(kwargs or {}))

    class Nothing(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    Log.calls.clear()
    x = torch.ones(1).as_subclass(Log)
    with Zero():
        assert torch.exp(x) == 0
        assert type(torch.sin(x)) is Log
    plain = torch.ones(1)
    with Nothing(), pytest.raises(TypeError, match="no implementation found for 'torch.sin'.*mode <class .*Nothing"):
        torch.sin(plain)
    assert [c[0] for c in Log.calls] == ["sin"]


def test_functions_in_python_take_part():
    @overrides.wrap_torch_function(lambda a, b=None: (a, b))
    def pair(a, b=None):
        return a, b

    assert pair(1, 2) == (1, 2)
    name, types, args, kwargs = pair(1, b=Foreign())
    assert name == "pair" and types == (Foreign,) and args == (1,) and list(kwargs) == ["b"]
    with Names() as mode:
        pair(1)
    assert mode.names == ["pair"]
    assert overrides.handle_torch_function(pair, (Foreign(),), 3)[2] == (3,)


def test_products_by_notation_are_seen_by_their_own_names():
    x = torch.ones(2, 2).as_subclass(Log)
    Log.calls.clear()
    assert torch.equal(torch.einsum("ij,jk->ik", [x, x]).as_subclass(torch.Tensor), torch.full((2, 2), 2.0))
    assert [c[0] for c in Log.calls][:1] == ["einsum"]
    name, _, args, kwargs = torch.einsum("ab,bc", Foreign(), x)
    assert name == "einsum" and args[0] == "ab,bc" and args[2] is x and kwargs == {}
    name, _, args, kwargs = torch.tensordot(x, Foreign(), 1)
    assert name == "tensordot" and args[0] is x and kwargs == {"dims": 1, "out": None}


def test_what_can_be_overridden_has_names():
    functions = overrides.get_overridable_functions()
    assert (
        torch.add in functions[torch]
        and torch.linalg.solve in functions[torch.linalg]
        and len(functions[torch.Tensor]) > 400
    )
    assert overrides.resolve_name(torch.linalg.solve) == "torch.linalg.solve" and overrides.resolve_name(int) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.mul_) and not overrides.is_tensor_method_or_property(
        torch.linspace
    )
    rare = [torch.Tensor.cpu, torch.Tensor.type, torch.Tensor.float, torch.Tensor.__iter__, torch.Tensor.lu]
    assert [f"{overrides.resolve_name(f)} {f.__name__} {f.__module__}" for f in rare] == [
        f"torch.Tensor.{name} {name} torch._tensor" for name in ("cpu", "type", "float", "__iter__", "lu")
    ]
    stand_in = overrides.get_testing_overrides()[torch.add]
    assert stand_in(1, 2) == -1 and not overrides.get_ignored_functions() & set(overrides.get_testing_overrides())


def test_as_subclass_shares_memory_and_refuses_other_classes():
    base = torch.zeros(2)
    base.as_subclass(Plain).add_(1)
    assert base.tolist() == [1, 1]
    with pytest.raises(TypeError, match="must be a subclass of Tensor, not <class 'int'>"):
        base.as_subclass(int)


def test_a_function_is_called_as_it_is_and_what_it_calls_is_seen():
    class Log(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    names = []
    x = torch.tensor(3.0).as_subclass(Log)
    assert scaled(x, x).item() == 10.0 and names == ["scaled", "mul"]
    assert x.to(torch.float64).dtype == torch.float64 and names[-1] == "to"
    assert torch.overrides._get_overloaded_args((1, x, torch.ones(1)))[0] is x


def test_an_override_that_changes_its_arguments_changes_those_of_the_caller_and_no_others():
    class Greedy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            for a in args:
                if type(a) is Greedy:
                    super().__torch_function__(torch.Tensor.add_, types, (a, 1))
            return super().__torch_function__(func, types, args, kwargs or {})

    x, plain = torch.zeros(2).as_subclass(Greedy), torch.ones(2)
    assert torch.add(x, plain).as_subclass(torch.Tensor).tolist() == [2.0, 2.0]
    assert x.as_subclass(torch.Tensor).tolist()[0] >= 1.0 and plain.tolist() == [1.0, 1.0]
    assert type(plain + plain) is torch.Tensor


def test_a_class_that_answers_operators_gets_their_results_as_they_are():
    class Answers(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*(a.plain if isinstance(a, cls) else a for a in args), **(kwargs or {}))

    class Both(Answers):
        __torch_function__ = Log.__torch_function__

    x = torch.Tensor._make_wrapper_subclass(Answers, (2,))
    x.plain = torch.ones(2)
    assert type(x * 2) is torch.Tensor and (x * 2).tolist() == [2, 2]
    assert Answers.__torch_function__ is torch._C._disabled_torch_function_impl
    assert not overrides.has_torch_function((x,))
    assert Both.__torch_function__ is not Answers.__torch_function__ and type(Plain(2) * 2) is Plain


def test_a_mode_sees_tensors_made_of_data_with_their_arguments():
    class Halves(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, args, kwargs))
            return func(*args, **{**(kwargs or {}), "dtype": torch.float16})

    seen = []
    with Halves():
        one, other = torch.tensor([1.0], dtype=torch.float64), torch.as_tensor(data=[2.0])
    assert one.dtype == other.dtype == torch.float16
    assert seen == [(torch.tensor, ([1.0],), {"dtype": torch.float64}), (torch.as_tensor, (), {"data": [2.0]})]
    assert torch.tensor([1.0]).dtype == torch.float32


def test_the_data_of_a_tensor_of_a_class_is_of_it_too():
    class Marked(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Marked)
    assert type(x.data) is Marked and x.data.data_ptr() == x.data_ptr()
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x.data) is torch.Tensor
    assert type(torch.ones(2).data) is torch.Tensor


def test_a_class_that_leaves_calls_as_they_are_can_be_asked_by_a_derived_class_that_sees_them():
    seen = []

    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    class Seeing(Plain):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.arange(4.0).as_subclass(Seeing)
    assert [type(piece) for piece in torch.split(x, 2)] == [torch.Tensor] * 2 and (x + x).tolist() == [0, 2, 4, 6]
    x.copy_(torch.ones(4))
    assert seen == ["split", "add", "copy_"]

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append("mode")
            return func(*args, **(kwargs or {}))

    with Mode():
        del seen[:]
        torch._C._disabled_torch_function_impl(torch.neg, (), (x,))
    assert seen == ["mode"]  # only classes take no part
