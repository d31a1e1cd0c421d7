"""Parameters, buffers and modules are in their three dicts and nowhere else: what every way to copy or edit a module sees."""

import abc
import collections
import copy
import dataclasses
import io
import pickle
import typing

import pytest
import torch
from torch import nn


class Scaled(nn.Linear):
    """Beside a weight: a buffer, a child, an attribute and a hook."""

    def __init__(self, extra=None):
        super().__init__(2, 2)
        self.register_buffer("count", torch.zeros(2))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.child = nn.Linear(1, 1)
        self.note = ["plain"]


class Slotted(Scaled):
    __slots__ = ("slot", "weight_slot")


class Annotated(Scaled):
    weight: torch.Tensor
    count: torch.Tensor
    child: nn.Linear


class Derived(Scaled):
    @property
    def twice(self):
        return self.weight * 2

    @twice.setter
    def twice(self, value):
        self.weight = nn.Parameter(value / 2)


class Dynamic(Scaled):
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "made_up":
                return 42
            raise


class Watching(Scaled):
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class Mixin:
    seen = []

    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        Mixin.seen.append((cls.__name__, options))


class Mixed(Scaled, Mixin, word=1):
    pass


CLASSES = [Scaled, Slotted, Annotated, Derived, Dynamic, Watching, Mixed]
NEW = {"_parameters": lambda: nn.Parameter(torch.full((2, 2), 9.0)), "_buffers": lambda: torch.full((2,), 9.0),
       "_modules": lambda: nn.Linear(1, 1)}  # fmt: skip
NAMES = {"_parameters": "weight", "_buffers": "count", "_modules": "child"}


def replicated(module):
    twin = module.__new__(type(module))
    twin.__dict__ = module.__dict__.copy()
    for kind in NAMES:
        twin.__dict__[kind] = twin.__dict__[kind].copy()
    return twin


def saved(module):
    if not hasattr(torch, "save"):
        pytest.skip("torch.save comes with torch-serialize; the environment `stack` runs these")
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def pickled(module):
    try:
        return pickle.loads(pickle.dumps(module))
    except Exception as error:
        if "torch-serialize" in str(error):
            pytest.skip("tensors pickle through torch-serialize")
        raise


# The copy, and which of its dicts and tensors are the module's own.
COPIES = {
    "replicate": (replicated, False, True),
    "copy": (copy.copy, True, True),
    "data_parallel": (lambda module: module._replicate_for_data_parallel(), False, True),
    "deepcopy": (copy.deepcopy, False, False),
    "pickle": (pickled, False, False),
    "save": (saved, False, False),
}


@pytest.mark.parametrize("cls", CLASSES)
def test_nothing_registered_is_in_the_dict_of_the_instance(cls):
    module = cls()
    assert not {"weight", "bias", "count", "scratch", "child"} & vars(module).keys()
    assert vars(module)["note"] == ["plain"]
    assert {kind: list(vars(module)[kind]) for kind in NAMES} == {
        "_parameters": ["weight", "bias"],
        "_buffers": ["count", "scratch"],
        "_modules": ["child"],
    }
    for kind, entries in ((kind, vars(module)[kind]) for kind in NAMES):
        assert type(entries) is dict, kind
        for name, value in entries.items():
            assert getattr(module, name) is value


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("cls", CLASSES)
def test_a_copy_shows_what_its_own_dicts_hold(cls, how, kind):
    make, same_dicts, same_tensors = COPIES[how]
    module, name = cls(), NAMES[kind]
    twin = make(module)
    assert type(twin) is cls
    assert (twin._modules is module._modules) == same_dicts
    before = getattr(module, name)
    if how == "data_parallel" and kind == "_parameters":
        assert not twin._parameters  # replicate() puts computed tensors there
    else:
        assert (getattr(twin, name) is before) == same_tensors
    new = NEW[kind]()
    getattr(twin, kind)[name] = new
    assert getattr(twin, name) is new
    assert getattr(module, name) is (new if same_dicts else before)
    assert name not in vars(twin)


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("cls", CLASSES)
def test_every_edit_of_a_dict_is_seen(cls, kind):
    module, name, new = cls(), NAMES[kind], NEW[kind]()
    entries = getattr(module, kind)
    others = [other for other in entries if other != name]
    edits = {
        "set": lambda: entries.__setitem__(name, new),
        "update": lambda: entries.update({name: new}),
        "or": lambda: entries.__ior__({name: new}),
        "plain dict of the class": lambda: dict.__setitem__(entries, name, new),
        "pop": lambda: entries.pop(name),
        "setdefault": lambda: entries.setdefault(name, new),
        "delete": lambda: entries.__delitem__(name),
        "popitem": lambda: [entries.popitem() for _ in range(len(entries))],
        "another": lambda: setattr(module, kind, {name: new}),
        "an ordered one": lambda: vars(module).update({kind: collections.OrderedDict({name: new})}),
        "a chain": lambda: vars(module).update({kind: collections.ChainMap({}, {name: new})}),
    }
    present = {"set", "update", "or", "plain dict of the class", "setdefault", "another", "an ordered one", "a chain"}
    for edit, change in edits.items():
        entries = getattr(module, kind)
        change()
        assert hasattr(module, name) == (edit in present), edit
        if edit in present:
            assert getattr(module, name) is new
        else:
            with pytest.raises(AttributeError, match=f"{cls.__name__}' object has no attribute '{name}'"):
                getattr(module, name)
            for other in others if edit != "popitem" else ():
                assert hasattr(module, other)


@pytest.mark.parametrize("cls", CLASSES)
def test_assignment_and_deletion_move_a_name_between_the_kinds(cls):
    values = {kind: make() for kind, make in NEW.items()}
    values["_buffers"] = nn.Buffer(torch.ones(1))
    for first in (*NEW, None):
        for second in NEW:
            module = cls()
            module.spot = values.get(first, "plain")
            module.spot = values[second]
            holders = [kind for kind in NEW if "spot" in getattr(module, kind)]
            assert holders == [second]
            assert "spot" not in vars(module)
            assert module.spot is values[second]
            del module.spot
            assert not hasattr(module, "spot")
            assert not any("spot" in getattr(module, kind) for kind in NEW)


@pytest.mark.parametrize("cls", CLASSES)
def test_none_is_registered_and_read_as_none(cls):
    module = cls()
    module.register_parameter("extra", None)
    module.register_buffer("empty", None)
    module.add_module("nobody", None)
    assert module.extra is module.empty is module.nobody is None
    assert "extra" in module._parameters and "extra" not in vars(module)
    module.weight = module.count = module.child = None
    assert [module.weight, module.count, module.child] == [None] * 3
    assert list(module.state_dict()) == ["bias"]


@pytest.mark.parametrize("cls", CLASSES)
def test_registering_a_taken_name_is_refused_and_changes_nothing(cls):
    for register in ("register_parameter", "register_buffer", "add_module"):
        for name in ("note", "forward", "weight", "count", "child", "training"):
            module = cls()
            kind = {"register_parameter": "_parameters", "register_buffer": "_buffers", "add_module": "_modules"}[
                register
            ]
            if name in getattr(module, kind):
                continue
            with pytest.raises(KeyError, match=f"attribute '{name}' already exists"):
                getattr(module, register)(name, None)
            assert name not in getattr(module, kind)
            assert hasattr(module, name)


def test_a_class_that_makes_attributes_up_counts_them_as_taken():
    with pytest.raises(KeyError, match="'made_up' already exists"):
        Dynamic().register_buffer("made_up", None)
    assert Dynamic().made_up == 42


def test_a_property_may_stand_before_a_registered_name():
    class Tied(nn.Linear):
        @property
        def weight(self):
            return self.source.weight  # AttributeError until there is a source

    module = Tied(2, 2)
    own = module._parameters["weight"]
    assert module.weight is own
    module.source = nn.Linear(2, 2)
    assert module.weight is module.source.weight
    assert module._parameters["weight"] is own
    x = torch.ones(1, 2)
    assert torch.equal(module(x), x @ module.source.weight.t() + module.bias)


def test_a_slot_that_is_empty_shows_the_registered_one():
    class Spot(nn.Module):
        __slots__ = ("w",)

    module = Spot()
    module.w = nn.Parameter(torch.ones(1))
    assert module.w is module._parameters["w"]


def test_a_getattr_put_into_the_class_later_is_asked():
    class Late(nn.Module):
        pass

    module = Late()
    assert not hasattr(module, "later")
    Late.__getattr__ = lambda self, name: nn.Module.__getattr__(self, name) if name[0] == "_" else name
    assert module.later == "later"
    del Late.__getattr__
    module.w = nn.Parameter(torch.ones(1))
    assert module.w is module._parameters["w"]
    assert not hasattr(module, "later")


def test_subclass_hooks_of_mixins_run():
    assert ("Mixed", {"word": 1}) in Mixin.seen


def test_a_dict_with_its_own_getitem_is_asked():
    class Gathering(collections.OrderedDict):
        def __getitem__(self, name):
            return (name, super().__getitem__(name))

    module = nn.Linear(1, 1)
    weight = module.weight
    module._parameters = Gathering(module._parameters)
    assert module.weight == ("weight", weight)


HOOKS = ["_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"]


@pytest.mark.parametrize("how", ["cleared", "replaced", "in the dict of the instance", "popped"])
@pytest.mark.parametrize("kind", HOOKS)
def test_hooks_run_as_long_as_they_are_in_their_dict(kind, how):
    calls = []
    register = {
        "_forward_pre_hooks": "register_forward_pre_hook",
        "_forward_hooks": "register_forward_hook",
        "_backward_pre_hooks": "register_full_backward_pre_hook",
        "_backward_hooks": "register_full_backward_hook",
    }[kind]
    module = nn.Linear(1, 1)

    def run():
        calls.clear()
        module(torch.ones(1, 1, requires_grad=True)).sum().backward()
        return len(calls)

    def hook(*args):
        calls.append(kind)

    handle = getattr(module, register)(hook)
    assert run() == 1
    if how == "cleared":
        getattr(module, kind).clear()
    elif how == "replaced":
        setattr(module, kind, collections.OrderedDict())
    elif how == "in the dict of the instance":
        vars(module)[kind] = {}
    else:
        getattr(module, kind).pop(handle.id)
    assert run() == 0
    getattr(module, register)(hook)
    assert run() == 1
    twin = copy.deepcopy(module)
    getattr(twin, kind).clear()
    assert run() == 1
    handle.remove()


def test_a_recurrent_layer_reads_weights_that_are_attributes():
    layer = nn.LSTM(2, 3, proj_size=2)
    x = torch.ones(4, 1, 2)
    expected, _ = layer(x)
    for name in list(layer._parameters):  # as regularisers of recurrent weights do
        raw = layer._parameters.pop(name)
        layer.register_parameter(name + "_raw", raw)
        setattr(layer, name, raw * 1.0)
    assert torch.equal(layer(x)[0], expected)
    assert [len(weights) for weights in layer.all_weights] == [5]
    assert layer._flat_weights_names == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0"]
    assert all(a is b for a, b in zip(layer._flat_weights, layer.all_weights[0]))


class Meta(type):
    pass


T = typing.TypeVar("T")


class Abstract(Scaled, abc.ABC):
    @abc.abstractmethod
    def size(self):
        """How much."""


class Concrete(Abstract):
    def size(self):
        return 1


class Generic(Scaled, typing.Generic[T]):
    pass


class WithMeta(Scaled, metaclass=Meta):
    pass


@dataclasses.dataclass(eq=False)
class Data(nn.Module):
    n: int = 2

    def __post_init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(self.n, self.n))


class Silent(Scaled):
    def __init_subclass__(cls, **options):
        """Does not pass the word on."""


class Deaf(Silent, word=1):
    pass


class Wrapper(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.inner = inner or nn.Linear(2, 2)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)


@pytest.mark.parametrize("cls", [Concrete, Generic, Generic[int], WithMeta, Data, Deaf, Wrapper])
def test_classes_of_every_making_read_their_dicts(cls):
    module = cls()
    assert "weight" not in vars(module)
    assert module.weight.shape == (2, 2)
    assert not hasattr(module, "nothing")
    twin = copy.deepcopy(module)
    assert twin.weight is not module.weight
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        try:
            again = pickle.loads(pickle.dumps(module, protocol))
        except Exception as error:
            if "torch-serialize" in str(error):
                break
            raise
        assert torch.equal(again.weight, module.weight)


def test_the_reading_of_attributes_may_be_patched_and_restored(monkeypatch):
    module, asked = nn.Linear(2, 2), []
    original = nn.Module.__getattr__

    def watch(self, name):
        asked.append(name)
        return original(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "__getattr__", watch)
        assert module.weight is module._parameters["weight"]
        assert module(torch.ones(1, 2)).shape == (1, 2)
    assert asked == ["weight", "weight", "bias"]
    assert module.weight is module._parameters["weight"]
    assert len(asked) == 3
