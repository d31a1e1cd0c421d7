"""Moving and casting modules, freezing, clearing gradients."""

import itertools
import weakref

import pytest
import torch
from torch import nn


def norm():
    return nn.BatchNorm1d(2)


@pytest.mark.parametrize(
    ("cast", "dtype"),
    [
        (lambda m: m.double(), torch.float64),
        (lambda m: m.half(), torch.float16),
        (lambda m: m.bfloat16(), torch.bfloat16),
        (lambda m: m.double().float(), torch.float32),
        (lambda m: m.to(torch.float64), torch.float64),
        (lambda m: m.to("cpu", torch.float64), torch.float64),
        (lambda m: m.to(torch.zeros(1, dtype=torch.float64)), torch.float64),
        (lambda m: m.to(dtype=torch.float16, device="cpu"), torch.float16),
    ],
)
def test_floating_tensors_are_cast_and_counts_are_not(cast, dtype):
    module = norm()
    weight = module.weight
    assert cast(module) is module
    assert module.weight is weight  # an optimiser that holds it stays right
    assert module.weight.dtype == dtype
    assert module.running_mean.dtype == dtype
    assert module.num_batches_tracked.dtype == torch.int64


def test_gradients_follow():
    layer = nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight.grad.dtype == torch.float64


def test_type_casts_everything():
    assert norm().type(torch.float64).num_batches_tracked.dtype == torch.float64


def test_integers_are_refused():
    with pytest.raises(TypeError, match="dtype must be floating point or complex, got torch.int64"):
        norm().to(torch.int64)


def test_requires_grad_freezes_all():
    net = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_zero_grad_drops_or_fills():
    layer = nn.Linear(1, 1)
    layer(torch.ones(1, 1)).sum().backward()
    grad = layer.weight.grad
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad is grad
    assert grad.item() == 0.0
    layer.zero_grad()
    assert layer.weight.grad is None


def test_parameters_of_one_module_in_two_places_stay_tied():
    layer = nn.Linear(2, 2)
    other = nn.Linear(2, 2)
    other.weight = layer.weight
    net = nn.Sequential(layer, other).double()
    assert net[0].weight is net[1].weight
    assert net[1].weight.dtype == torch.float64


def test_to_empty_keeps_shapes():
    layer = nn.Linear(2, 3).to_empty(device="cpu")
    assert layer.weight.shape == (3, 2)
    assert layer.weight.requires_grad


def test_flags_of_hidden_state_survive_device_moves():
    module = nn.Module()
    module.b = nn.Buffer(torch.zeros(1), persistent=False)
    module.double()
    assert module.b.dtype == torch.float64
    assert list(module.state_dict()) == []


TO = {"device": torch.device("cpu"), "str": "cpu", "dtype": torch.float64, "tensor": torch.ones(1, dtype=torch.float64),
      "bool": True, "None": None, "format": torch.channels_last, "float": 1.5, "list": []}  # fmt: skip
TAKEN = {
    ("tensor",), ("tensor", "bool"), ("dtype",), ("dtype", "bool"),
    *((d, *rest) for d in ("device", "str", "None") for rest in ((), ("dtype",), ("None",), ("dtype", "bool"), ("None", "bool"))),
}  # fmt: skip


def test_to_takes_its_arguments_in_their_order_only():
    for count in (1, 2, 3):
        for kinds in itertools.product(TO, repeat=count):
            layer = nn.Linear(1, 1)
            try:
                layer.to(*(TO[kind] for kind in kinds))
                answer = "taken"
            except TypeError as error:
                assert "Module.to: got (" in str(error)
                answer = "refused"
            except RuntimeError as error:
                assert "does not take copy" in str(error)
                answer = "copy"
            if kinds in TAKEN:
                assert answer == "taken", kinds
                wide = "dtype" in kinds or "tensor" in kinds
                assert layer.weight.dtype == (torch.float64 if wide else torch.float32), kinds
            else:
                assert answer != "taken", kinds
                assert layer.weight.dtype == torch.float32, kinds


@pytest.mark.parametrize("names", [("other",), ("tensor", "dtype"), ("dtype", "tensor"), ("bogus",)])
def test_to_refuses_names_that_do_not_go_together(names):
    values = {"other": TO["tensor"], "tensor": TO["tensor"], "dtype": torch.float64, "bogus": 1}
    with pytest.raises(TypeError, match="Module.to: got"):
        nn.Linear(1, 1).to(**{name: values[name] for name in names})
    with pytest.raises(TypeError, match=r"got \(device, device=str\)"):
        nn.Linear(1, 1).to(torch.device("cpu"), device="cpu")
    with pytest.raises(RuntimeError, match="does not take copy"):
        nn.Linear(1, 1).to("cpu", copy=False)


def test_a_module_moves_to_meta_and_comes_back_empty():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    net[0](torch.ones(1, 2)).sum().backward()
    net[0].bias.requires_grad_(False)
    assert net.to("meta") is net
    assert {t.device.type for t in net.state_dict().values()} == {"meta"}
    assert (
        net[0].weight.grad.is_meta and not net[0].bias.requires_grad and isinstance(net[0].weight, torch.nn.Parameter)
    )
    with pytest.raises(NotImplementedError, match="to_empty"):
        net.to("cpu")
    net.to_empty(device="cpu")
    net.load_state_dict(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).state_dict())
    assert net(torch.randn(4, 2)).shape == (4, 3)


def test_a_module_is_kept_in_eight_bits_and_comes_back():
    layer = nn.Linear(2, 2)
    weight, kept = layer.weight, layer.weight.to(torch.float8_e4m3fn).float()
    layer.to(torch.float8_e4m3fn)
    assert layer.weight is weight and weight.dtype == torch.float8_e4m3fn
    layer.to(torch.float32)
    assert torch.equal(weight, kept) and layer(torch.ones(2)).dtype == torch.float32


# --- parameters of classes, and torch.__future__ ---


class Wrapper(torch.Tensor):
    """A tensor that computes with the one it holds."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, device=held.device)

    def __init__(self, held):
        self.held = held

    def __tensor_flatten__(self):
        return ["held"], None

    @staticmethod
    def __tensor_unflatten__(held, context, size, stride):
        return Wrapper(held["held"])

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [a.held if isinstance(a, Wrapper) else a for a in args]
        result = func(*plain, **(kwargs or {}))
        return Wrapper(result) if isinstance(result, torch.Tensor) else result


@pytest.fixture
def future():
    yield torch.__future__
    torch.__future__.set_swap_module_params_on_conversion(False)
    torch.__future__.set_overwrite_module_params_on_conversion(False)


def test_a_parameter_that_holds_other_tensors_converts_them():
    layer = nn.Linear(3, 2)
    layer.weight = weight = nn.Parameter(Wrapper(layer.weight.detach()))
    layer.to(torch.float64)
    assert layer.weight is weight and weight.dtype == weight.held.dtype == torch.float64
    assert isinstance(weight.data, Wrapper) and layer(torch.ones(1, 3).double()).dtype == torch.float64
    layer.bfloat16()
    assert layer.weight is weight and weight.held.dtype == torch.bfloat16


def test_a_parameter_that_sees_calls_is_asked_itself():
    class Noted(nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

        def to(self, *args, **kwargs):
            self.note = kwargs["dtype"]
            return super().to(*args, **kwargs)

    layer = nn.Linear(3, 2)
    layer.weight = weight = Noted(layer.weight.detach())
    layer.to(torch.float64)
    assert layer.weight is weight and weight.note == weight.dtype == torch.float64
    assert type(weight.data) is torch.Tensor


def test_gradients_stay_the_same_objects():
    layer = nn.Linear(3, 2)
    grad = layer.weight.grad = torch.ones(2, 3)
    layer.double()
    assert layer.weight.grad is grad and grad.dtype == torch.float64


def test_parameters_can_change_places_with_what_they_become(future):
    future.set_swap_module_params_on_conversion(True)
    layer = nn.Linear(3, 2)
    layer.weight.grad = torch.ones(2, 3)
    weight, view = layer.weight, layer.weight.data
    layer.double()
    assert layer.weight is weight and weight.dtype == weight.grad.dtype == torch.float64 and view.dtype == torch.float32
    layer.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)})
    assert layer.weight is weight and weight.dtype == torch.float64 and weight.eq(1).all() and weight.requires_grad
    layer.load_state_dict({"weight": torch.zeros(2, 3).half(), "bias": torch.zeros(2)}, assign=True)
    assert layer.weight is weight and weight.dtype == torch.float16
    empty = nn.Linear(3, 2, device="meta")
    weight = empty.weight
    assert empty.to_empty(device="cpu").weight is weight and not weight.is_meta


def test_a_parameter_says_what_it_becomes_when_it_is_loaded(future):
    class Loaded(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.Tensor.module_load:
                return answers.pop()(*args)
            return super().__torch_function__(func, types, args, kwargs or {})

    future.set_swap_module_params_on_conversion(True)
    layer = nn.Linear(2, 1, bias=False)
    layer.weight = weight = nn.Parameter(torch.zeros(1, 2).as_subclass(Loaded))
    answers = [lambda current, given: given, lambda current, given: given * 2]
    layer.load_state_dict({"weight": torch.ones(1, 2)})
    assert layer.weight is weight and weight.tolist() == [[2, 2]]
    layer.weight = nn.Parameter(torch.zeros(1, 2).as_subclass(Loaded))
    with pytest.raises(RuntimeError, match="weight: module_load of Loaded gave one of its arguments back"):
        layer.load_state_dict({"weight": torch.ones(1, 2)})


def test_parameters_can_be_made_anew(future):
    future.set_overwrite_module_params_on_conversion(True)
    layer = nn.Linear(3, 2)
    weight = layer.weight
    layer.double()
    assert layer.weight is not weight and (weight.dtype, layer.weight.dtype) == (torch.float32, torch.float64)


def test_a_parameter_that_cannot_change_places_is_left_as_it_was(future):
    future.set_swap_module_params_on_conversion(True)
    layer = nn.Linear(3, 2)
    grad = layer.weight.grad = torch.ones(2, 3)
    held = weakref.ref(layer.weight)
    with pytest.raises(RuntimeError, match="Linear.weight: the parameter cannot change places with what it becomes"):
        layer.double()
    assert held() is layer.weight and layer.weight.grad is grad and layer.weight.dtype == torch.float32
