"""Calling modules: hooks, modes, errors that name the layer, gradients through shared modules."""

import pytest
import torch
from torch import nn
from torch.nn.modules import module as global_hooks


class Double(nn.Module):
    def forward(self, x, plus=0.0):
        return x * 2 + plus


def test_forward_must_be_defined():
    with pytest.raises(NotImplementedError, match='Module .Module. is missing the required "forward"'):
        nn.Module()(1)


def test_forward_hook_sees_and_replaces_the_output():
    module, seen = Double(), []
    handle = module.register_forward_hook(lambda m, args, out: seen.append((m, args, out)))
    x = torch.ones(1)
    y = module(x)
    assert seen[0][0] is module
    assert seen[0][1][0] is x
    assert seen[0][2] is y
    handle.remove()
    module(x)
    assert len(seen) == 1
    with module.register_forward_hook(lambda m, args, out: out + 1):
        assert module(x).item() == 3.0
    assert module(x).item() == 2.0


def test_pre_hook_replaces_the_arguments():
    module = Double()
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    assert module(torch.ones(1)).item() == 4.0
    module.register_forward_pre_hook(lambda m, args: (args[0] * 10,), prepend=True)
    assert module(torch.ones(1)).item() == 22.0


def test_hooks_with_kwargs():
    module = Double()
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"plus": kwargs["plus"] + 1}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["plus"], with_kwargs=True)
    assert module(torch.ones(1), plus=5.0).item() == 14.0
    bad = Double()
    bad.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="wants None or a tuple .args, kwargs. back, got"):
        bad(torch.ones(1), 2.0, 3.0)


def test_always_call_runs_after_an_error():
    seen = []
    module = nn.Linear(2, 2)
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    module.register_forward_hook(lambda m, args, out: seen.append("not this"))
    with pytest.raises(RuntimeError):
        module(torch.zeros(1, 3))
    assert seen == [None]


def test_hooks_edited_by_hand_are_seen():
    module = Double()
    handle = module.register_forward_hook(lambda m, args, out: out * 0)
    module._forward_hooks.clear()
    assert module(torch.ones(1)).item() == 2.0
    handle.remove()
    module._forward_hooks[0] = lambda m, args, out: out * 5
    assert module(torch.ones(1)).item() == 10.0


def test_global_hooks_run_for_every_module():
    names = []
    with global_hooks.register_module_forward_hook(lambda m, args, out: names.append(type(m).__name__)):
        nn.Sequential(nn.Identity())(1)
    nn.Identity()(1)
    assert names == ["Identity", "Sequential"]
    with global_hooks.register_module_forward_pre_hook(lambda m, args: (args[0] + 1,)):
        assert nn.Identity()(1) == 2


def test_full_backward_hook_sees_both_sides():
    seen = []
    layer = nn.Linear(2, 1, bias=False)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    x = torch.ones(3, 2, requires_grad=True)
    (layer(x) * 2).sum().backward()
    ((grad_input,), (grad_output,)) = seen[0]
    assert torch.equal(grad_output, torch.full((3, 1), 2.0))
    assert torch.allclose(grad_input, 2 * layer.weight.expand(3, 2))
    assert torch.allclose(x.grad, grad_input)


def test_full_backward_hook_replaces_the_gradient_of_the_input():
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0 + 7,))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert torch.equal(x.grad, torch.full((1, 2), 7.0))
    bad = nn.Linear(2, 1)
    bad.register_full_backward_hook(lambda m, gi, go: (1, 2))
    with pytest.raises(RuntimeError, match="Linear: backward hook returned 2 values for grad_input, expected 1"):
        bad(x).sum().backward()


def test_full_backward_pre_hook_replaces_the_gradient_of_the_output():
    layer = nn.Linear(1, 1, bias=False)
    layer.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    x = torch.ones(1, 1, requires_grad=True)
    layer(x).sum().backward()
    assert torch.allclose(x.grad, 3 * layer.weight)
    assert layer.weight.grad.item() == 3.0


def test_full_backward_hook_without_gradient_of_the_input_gets_none():
    seen = []
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    layer(torch.ones(1, 2)).sum().backward()
    assert seen == [(None,)]


def test_backward_hooks_of_modules_with_several_inputs_and_outputs():
    class Two(nn.Module):
        def forward(self, a, scale, b):
            return a * scale, b * 3

    seen = []
    module = Two()
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    x, y = module(a, 2.0, b)
    (x + 10 * y).sum().backward()
    gi, go = seen[0]
    assert [g if g is None else g.item() for g in gi] == [2.0, None, 30.0]
    assert [g.item() for g in go] == [1.0, 10.0]


def test_one_module_used_twice_sums_its_gradients():
    layer = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(3.0)
    x = torch.full((1, 1), 2.0)
    layer(layer(x)).backward()
    assert layer.weight.grad.item() == 2 * 3.0 * 2.0  # d(w^2 x)/dw = 2 w x


def test_branches_may_depend_on_data():
    class Branch(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(1, 1), nn.Linear(1, 1)

        def forward(self, x):
            return self.up(x) if x.sum() > 0 else self.down(x)

    module = Branch()
    module(torch.ones(1, 1)).sum().backward()
    assert module.up.weight.grad is not None
    assert module.down.weight.grad is None


def test_train_and_eval_reach_all_modules():
    net = nn.Sequential(nn.Sequential(nn.Dropout(0.5)), nn.BatchNorm1d(2))
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())
    with pytest.raises(ValueError, match="expected to be boolean, got int"):
        net.train(1)


def test_apply_visits_children_first():
    names = []
    nn.Sequential(nn.Identity(), nn.Sequential(nn.ReLU())).apply(lambda m: names.append(type(m).__name__))
    assert names == ["Identity", "ReLU", "Sequential", "Sequential"]


@pytest.mark.skipif("not hasattr(BaseException, 'add_note')", reason="notes on exceptions came with Python 3.11")
def test_errors_name_the_layer_by_its_path():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))

        def forward(self, x):
            return self.features(x)

    with pytest.raises(RuntimeError) as error:
        Net()(torch.zeros(1, 3))
    assert error.value.__notes__ == [
        "while running layer 'features.1' of Net: Linear(in_features=4, out_features=2, bias=True) "
        "called with (float32 (1, 3))"
    ]


def test_without_notes_the_layer_stands_below_the_text_of_the_error(monkeypatch):
    monkeypatch.setattr("torch.nn.modules._path._HAS_NOTES", False)
    with pytest.raises(RuntimeError) as error:
        nn.Sequential(nn.ReLU(), nn.Sequential(nn.Linear(4, 2)))(torch.zeros(1, 3))
    text, layer = str(error.value).split("\n")
    assert text == "linear: last dim of input (1, 3) must equal last dim of weight (2, 4)"
    assert layer == (
        "while running layer '1.0' of Sequential: Linear(in_features=4, out_features=2, bias=True) "
        "called with (float32 (1, 3))"
    )


@pytest.mark.skipif("not hasattr(BaseException, 'add_note')", reason="notes on exceptions came with Python 3.11")
def test_errors_name_the_arguments_of_the_layer():
    class Odd(nn.Module):
        def forward(self, *args, **kwargs):
            raise KeyError("mine")

    class Mute:
        @property
        def __class__(self):
            raise RuntimeError("asked")

    def note_of(*args, **kwargs):
        with pytest.raises(KeyError) as error:
            nn.Sequential(Odd())[0](*args, **kwargs)
        return error.value.__notes__

    x = torch.zeros(2, dtype=torch.int64)
    assert note_of(x, None, (x, [x]), scale=2.0, by=object()) == [
        "while running Odd() called with (int64 (2,), None, (int64 (2,), [int64 (2,)]), scale=2.0, by=object)"
    ]
    assert note_of() == ["while running Odd() called with ()"]
    assert note_of([1, 2, 3, 4, 5]) == ["while running Odd() called with ([1, 2, 3, 4, ...])"]
    assert note_of(Mute()) == ["while running Odd()"]


def test_a_layer_that_calls_itself_ends_in_an_error_that_names_it():
    class Round(nn.Module):
        def forward(self, x):
            return self(x)

    with pytest.raises(RecursionError) as error:
        Round()(torch.zeros(1))
    if hasattr(error.value, "__notes__"):
        assert len(error.value.__notes__) == 1 and error.value.__notes__[0].startswith("while running Round()")
    assert nn.Linear(1, 1)(torch.zeros(1)).shape == (1,)


def test_a_layer_may_change_its_arguments():
    class Grow(nn.Module):
        def forward(self, x, seen):
            seen.append(x.shape)
            x.add_(1)
            raise ValueError("after")

    x, seen = torch.zeros(2), []
    with pytest.raises(ValueError, match="after"):
        nn.Sequential(Grow())[0](x, seen)
    assert x.tolist() == [1.0, 1.0] and seen == [(2,)]


def test_printing_shows_the_tree():
    net = nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.ReLU(inplace=True)))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=1, out_features=2, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU(inplace=True)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Identity()) == "Identity()"
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n)"


def test_functional_call_swaps_parameters_for_one_call():
    from torch.nn.utils.stateless import functional_call

    layer = nn.Linear(1, 1)
    weight = layer.weight
    out = functional_call(layer, {"weight": torch.full((1, 1), 2.0), "bias": torch.zeros(1)}, torch.ones(1, 1))
    assert out.item() == 2.0
    assert layer.weight is weight
    with pytest.warns(UserWarning, match="no parameter, buffer or tensor 'wieght'"):
        out = functional_call(layer, {"wieght": weight}, torch.ones(1, 1))
    assert torch.equal(out, layer(torch.ones(1, 1))) and not hasattr(layer, "wieght")
    with pytest.raises(AttributeError, match="head"):
        functional_call(layer, {"head.weight": weight}, torch.ones(1, 1))
    with pytest.raises(TypeError, match="'in_features' is a int, not a tensor"):
        functional_call(layer, {"in_features": weight}, torch.ones(1, 1))


def test_functional_call_swaps_tensors_that_are_plain_attributes():
    from torch.func import functional_call

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(1)

        def forward(self, x):
            return x * self.scale

    layer = Scaled()
    own = layer.scale
    assert functional_call(layer, {"scale": torch.tensor([3.0])}, torch.ones(1)).item() == 3
    assert layer.scale is own


def test_a_class_that_exec_made_has_no_module_of_python():
    names = {"nn": nn, "__builtins__": __builtins__}
    exec(
        "class Made(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        self.width = width",
        names,
    )
    assert names["Made"]("4").width == "4"
