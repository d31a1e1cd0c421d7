"""Every layer of torch.nn is compiled, computes the same, and most are saved."""

import copy
import io

import pytest
import script_layers
import torch
from test_script import same
from torch import nn

# What a program calls Python for: it cannot be saved.
IN_PYTHON = {"CTCLoss"}


def made(name, training):
    torch.manual_seed(0)
    make, args = script_layers.LAYERS[name]
    return make().train(training), copy.deepcopy(args)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", list(script_layers.LAYERS))
def test_a_layer_is_compiled(name, training):
    layer, args = made(name, training)
    plain = copy.deepcopy(layer)
    compiled = torch.jit.script(layer)
    torch.manual_seed(1)
    want = plain(*args)
    torch.manual_seed(1)
    got = compiled(*args)
    for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (want, got))):
        if isinstance(a, torch.Tensor):
            assert torch.allclose(a, b, atol=1e-5, equal_nan=True)
        else:
            assert same(tuple(a), tuple(b)) if isinstance(a, tuple) else a == b


@pytest.mark.parametrize("name", [name for name in script_layers.LAYERS if name not in IN_PYTHON])
def test_a_layer_is_saved_and_loaded(name):
    layer, args = made(name, False)
    compiled = torch.jit.script(layer)
    out = io.BytesIO()
    torch.jit.save(compiled, out)
    loaded = torch.jit.load(io.BytesIO(out.getvalue()))
    want, got = compiled(*args), loaded(*args)
    first = [each[0] if isinstance(each, tuple) else each for each in (want, got)]
    assert torch.allclose(*first, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", sorted(IN_PYTHON))
def test_a_layer_that_python_computes_says_that_it_cannot_be_saved(name):
    compiled = torch.jit.script(made(name, True)[0])
    with pytest.raises(RuntimeError, match="archive cannot hold"):
        compiled.save(io.BytesIO())


def test_the_layout_of_an_image_is_asked_for():
    @torch.jit.script
    def lies(x):
        return x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last)

    x = torch.ones(2, 3, 4, 5)
    assert lies(x) == (True, False)
    assert lies(x.contiguous(memory_format=torch.channels_last)) == (False, True)
    assert lies(x[0]) == (True, False)


def test_whether_autocast_is_on_is_asked_for_when_it_runs():
    @torch.jit.script
    def asked(x):
        return torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")

    assert asked(torch.ones(1)) == (False, False)
    with torch.autocast("cpu", torch.bfloat16):
        assert asked(torch.ones(1)) == (True, False)


@pytest.mark.parametrize(
    "layer, shape",
    [(nn.Dropout1d, (5, 3)), (nn.Dropout1d, (2, 5, 3)), (nn.Dropout3d, (5, 4, 2, 2)), (nn.Dropout3d, (2, 5, 4, 2, 2))],
)
def test_whole_channels_are_dropped_with_a_batch_and_without(layer, shape):
    x, found = torch.ones(shape), []
    for each in (layer(0.5), torch.jit.script(layer(0.5))):
        torch.manual_seed(3)
        found.append(each(x))
    assert torch.equal(*found)
