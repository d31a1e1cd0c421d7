"""Every layer that is given an argument of another type says which one, and what it takes."""

import pytest
import torch
from torch import nn
from torch._seams import typed_arguments


class Broken:
    """An object whose methods give what they must not."""

    def __index__(self):
        return "text"

    __len__ = __bool__ = __float__ = __index__


class Own(Exception):
    pass


class Raises:
    def __index__(self):
        raise Own

    __len__ = __bool__ = __float__ = __iter__ = __eq__ = __hash__ = __getitem__ = __index__


CONTAINERS = {"Iterable", "Sequence"}

#: values that are of none of the kinds, except for those in the set
WRONG = {
    "an object": (object(), {"bool"}),
    "a broken object": (Broken(), set()),
    "a dict": ({"a": 1}, CONTAINERS),
    "bytes": (b"2", CONTAINERS),
    "a class": (int, {"torch.dtype", "Callable"}),
    "text": ("seven", {"str", "Literal", *CONTAINERS}),
    "a list of text": (["a", 2], CONTAINERS),
    "a tensor of four": (torch.ones(2, 2), {"Tensor", *CONTAINERS}),
    "a complex number": (1j, {"bool"}),
}
CASES = [
    (name, argument)
    for name in dir(nn)
    if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)
    for argument in typed_arguments(getattr(nn, name))
]


@pytest.mark.parametrize("name, argument", CASES)
def test_an_argument_of_another_type_is_named(name, argument):
    cls = getattr(nn, name)
    kinds = typed_arguments(cls)[argument]
    for what, (value, taken) in WRONG.items():
        if not taken.isdisjoint(kinds):
            continue
        with pytest.raises(TypeError, match=rf"^{name}: {argument} must be .*, got {type(value).__name__}"):
            pytest.fail(f"{name}({argument}={what}) is taken: {cls(**{argument: value})}")


def test_what_a_hostile_object_raises_goes_on():
    for make in (lambda: nn.Linear(Raises(), 2), lambda: nn.Dropout(Raises()), lambda: nn.Linear(2, 2, bias=Raises())):
        with pytest.raises(Own):
            make()


def test_a_number_beyond_64_bits_is_named():
    with pytest.raises(ValueError, match=r"^Linear: in_features must fit into 64 bits, got 1180591620717411303424"):
        nn.Linear(2**70, 2)


def test_layers_devices_and_functions_are_named():
    with pytest.raises(TypeError, match="^TransformerEncoder: encoder_layer must be a Module, got int"):
        nn.TransformerEncoder(3, 2)
    with pytest.raises(TypeError, match="^Linear: device must be a device, a str, an int or None, got list"):
        nn.Linear(2, 2, device=["cpu"])
    with pytest.raises(TypeError, match="^TripletMarginWithDistanceLoss: distance_function must be a callable or None"):
        nn.TripletMarginWithDistanceLoss(distance_function=2)
    with pytest.raises(TypeError, match="^MultiheadAttention: embed_dim must be an int, got float"):
        nn.MultiheadAttention(4.0, 2)
    with pytest.raises(ValueError, match="GroupNorm: num_channels must be divisible by num_groups, got 4 and 0"):
        nn.GroupNorm(0, 4)
    assert nn.Linear(2, 2, device=torch.device("cpu"), dtype=float).weight.dtype is torch.float64


def test_numbers_of_all_sorts_are_taken():
    numpy = pytest.importorskip("numpy")
    assert nn.Linear(numpy.int64(3), torch.tensor(2), bias=numpy.bool_(False)).weight.shape == (2, 3)
    assert nn.Dropout(numpy.float32(0.5)).p == 0.5
    assert nn.Linear(3, 2, bias=None).bias is None
    assert nn.Conv2d(1, 1, [3, numpy.int32(3)], padding="same")(torch.ones(1, 1, 4, 4)).shape == (1, 1, 4, 4)
    assert nn.LayerNorm(torch.Size([3])).weight.shape == (3,)


def test_layers_of_a_user_are_their_own():
    class Wide(nn.Linear):
        def __init__(self, size):
            super().__init__(*map(int, size.split("x")))

    assert Wide("3x2").weight.shape == (2, 3)
