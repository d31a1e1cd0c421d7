"""state_dict, load_state_dict and their hooks."""

import collections
import copy
import gc
import pickle
import warnings
import weakref

import pytest
import torch
from torch import nn


def net():
    return nn.Sequential(collections.OrderedDict(first=nn.Linear(2, 3), norm=nn.BatchNorm1d(3)))


def test_keys_are_dotted_paths_in_order():
    assert list(net().state_dict()) == [
        "first.weight",
        "first.bias",
        "norm.weight",
        "norm.bias",
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    ]
    assert list(net().state_dict(prefix="a."))[0] == "a.first.weight"


def test_tensors_share_memory_and_are_detached():
    layer = nn.Linear(2, 3)
    state = layer.state_dict()
    assert not state["weight"].requires_grad
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight
    with torch.no_grad():
        layer.weight.fill_(3.0)
    assert (state["weight"] == 3.0).all()


def test_load_copies_into_the_same_parameters():
    source, target = net(), net()
    weight = target.first.weight
    keys = target.load_state_dict(source.state_dict())
    assert repr(keys) == "<All keys matched successfully>"
    assert target.first.weight is weight
    assert torch.equal(weight, source.first.weight)
    assert weight.requires_grad


def test_strict_lists_all_that_is_wrong_and_changes_nothing():
    target = net()
    before = {key: value.clone() for key, value in target.state_dict().items()}
    state = net().state_dict()
    del state["first.bias"]
    state["frist.bias"] = torch.zeros(3)
    state["norm.weight"] = torch.zeros(4)
    with pytest.raises(RuntimeError) as error:
        target.load_state_dict(state)
    text = str(error.value)
    assert "Error(s) in loading state_dict for Sequential" in text
    assert 'Missing key(s) in state_dict: "first.bias"' in text
    assert 'Unexpected key(s) in state_dict: "frist.bias"' in text
    assert 'renamed to "first.bias"' in text
    assert (
        "size mismatch for norm.weight: copying a param with shape torch.Size([4]) from checkpoint, "
        "the shape in current model is torch.Size([3])" in text
    )
    for key, value in target.state_dict().items():
        assert torch.equal(value, before[key])


def test_not_strict_loads_what_matches_and_returns_the_rest():
    target, state = net(), net().state_dict()
    del state["first.bias"]
    state["new"] = torch.zeros(1)
    keys = target.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["first.bias"]
    assert keys.unexpected_keys == ["new"]
    assert torch.equal(target.first.weight, state["first.weight"])


def test_a_prefix_of_data_parallel_is_named():
    state = {"module." + key: value for key, value in net().state_dict().items()}
    with pytest.raises(RuntimeError, match="saved from DataParallel"):
        net().load_state_dict(state)


def test_assign_takes_the_tensors_themselves():
    target = nn.Linear(2, 3)
    weight = torch.zeros(3, 2, dtype=torch.float64)
    target.load_state_dict({"weight": weight, "bias": torch.zeros(3)}, assign=True)
    assert target.weight.dtype == torch.float64
    assert isinstance(target.weight, nn.Parameter)
    assert target.weight.data_ptr() == weight.data_ptr()


def test_buffers_that_are_not_persistent_stay_out():
    module = nn.Module()
    module.register_buffer("kept", torch.zeros(1))
    module.register_buffer("left", torch.zeros(1), persistent=False)
    module.other = nn.Buffer(torch.zeros(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert len(list(module.buffers())) == 3
    module.load_state_dict({"kept": torch.ones(1)})


def test_a_class_with_the_old_register_buffer_takes_buffers_that_are_assigned():
    class Old(nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor * 2)

    module = Old()
    module.kept = nn.Buffer(torch.ones(1))
    assert module.state_dict()["kept"].item() == 2


def test_a_plain_dict_takes_the_state():
    state = {}
    assert nn.Sequential(nn.Linear(2, 1)).state_dict(destination=state) is state
    assert list(state) == ["0.weight", "0.bias"]


def test_a_zero_dim_buffer_takes_one_element():
    module = nn.Module()
    module.register_buffer("n", torch.tensor(0.0))
    module.load_state_dict({"n": torch.ones(1)})
    assert module.n.item() == 1.0


def test_something_that_is_no_tensor_is_named():
    with pytest.raises(RuntimeError, match="type mismatch for weight: expected a Tensor, got list"):
        nn.Linear(1, 1).load_state_dict({"weight": [[1.0]], "bias": torch.zeros(1)})
    with pytest.raises(TypeError, match="state_dict must be a dict, got list"):
        nn.Linear(1, 1).load_state_dict([])


def test_metadata_carries_versions_and_old_batch_norms_load():
    state = net().state_dict()
    assert state._metadata["norm"]["version"] == 2
    del state["norm.num_batches_tracked"]
    state._metadata["norm"]["version"] = 1
    net().load_state_dict(state)
    bare = dict(state)
    net().load_state_dict(bare)


def test_extra_state_goes_along():
    class Counter(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def get_extra_state(self):
            return {"n": self.n}

        def set_extra_state(self, state):
            self.n = state["n"]

    source, target = nn.Sequential(Counter(5)), nn.Sequential(Counter(0))
    assert list(source.state_dict()) == ["0._extra_state"]
    target.load_state_dict(source.state_dict())
    assert target[0].n == 5
    with pytest.raises(RuntimeError, match='Missing key.*"0._extra_state"'):
        target.load_state_dict({})


def test_hooks_of_saving_and_loading():
    layer = nn.Linear(1, 1)
    layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: module.register_buffer("late", torch.zeros(1)))
    layer.register_state_dict_post_hook(lambda module, state, *rest: state.__delitem__("bias"))
    assert list(layer.state_dict()) == ["weight", "late"]

    layer = nn.Linear(1, 1)
    layer._register_load_state_dict_pre_hook(lambda state, prefix, *rest: state.update(weight=state.pop("w")))
    seen = []
    layer.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: seen.append(module))
    layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    layer.load_state_dict({"w": torch.full((1, 1), 4.0)})
    assert layer.weight.item() == 4.0
    assert seen == [layer]


def test_hooks_and_methods_of_ones_own_see_what_was_loaded():
    class Doubled(nn.Linear):
        def _load_from_state_dict(self, *args):
            super()._load_from_state_dict(*args)
            self.seen = self.weight.sum().item()

    state = {"0.weight": torch.ones(2, 3), "1.weight": torch.ones(3, 2)}
    net = nn.Sequential(Doubled(3, 2, bias=False), nn.Linear(2, 3, bias=False))
    sums = []
    net[1].register_load_state_dict_post_hook(lambda module, keys: sums.append(module.weight.sum().item()))
    net.register_load_state_dict_post_hook(lambda module, keys: sums.append(module[1].weight.sum().item()))
    net.load_state_dict(state)
    assert net[0].seen == 6 and sums == [6, 6]


def test_an_override_of_the_loading_of_one_module_is_called():
    class Renamed(nn.Linear):
        def _load_from_state_dict(self, state_dict, prefix, *rest):
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "matrix")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    net = nn.Sequential(Renamed(1, 1, bias=False))
    net.load_state_dict({"0.matrix": torch.full((1, 1), 2.0)})
    assert net[0].weight.item() == 2.0


def test_module_used_twice_is_saved_under_both_names():
    layer = nn.Linear(1, 1)
    assert list(nn.Sequential(layer, layer).state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_a_parent_may_rename_the_entries_of_its_children():
    class Renaming(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def _load_from_state_dict(self, state_dict, prefix, *args):
            for key in [key for key in state_dict if key.startswith(prefix + "old.")]:
                state_dict[prefix + "layer." + key[len(prefix + "old.") :]] = state_dict.pop(key)
            super()._load_from_state_dict(state_dict, prefix, *args)

    net = nn.Sequential(nn.Sequential(Renaming()))
    state = {"0.0.old.weight": torch.ones(1, 1), "0.0.old.bias": torch.ones(1)}
    assert str(net.load_state_dict(state)) == "<All keys matched successfully>"
    assert net[0][0].layer.weight.item() == 1.0
    assert list(state) == ["0.0.old.weight", "0.0.old.bias"]


def test_each_module_sees_its_own_part_of_the_state():
    seen = {}

    class Looking(nn.Module):
        def __init__(self, name, *children):
            super().__init__()
            self.name = name
            for i, child in enumerate(children):
                self.add_module(f"c{i}", child)
            self.w = nn.Parameter(torch.zeros(1))

        def _load_from_state_dict(self, state_dict, *args):
            seen[self.name] = list(state_dict)
            super()._load_from_state_dict(state_dict, *args)

    net = Looking("top", Looking("a", Looking("b")), Looking("c"))
    twin = Looking("top", Looking("a", Looking("b")), Looking("c"))
    state = net.state_dict()
    state["c00.w"] = torch.zeros(1)  # begins like a child's name, and is none of its
    missing, unexpected = twin.load_state_dict(state, strict=False)
    assert seen == {
        "top": ["w", "c0.w", "c0.c0.w", "c1.w", "c00.w"],
        "a": ["c0.w", "c0.c0.w"],
        "b": ["c0.c0.w"],
        "c": ["c1.w"],
    }
    assert (missing, unexpected) == ([], ["c00.w"])


def test_one_module_can_be_loaded_by_itself():
    layer = nn.BatchNorm1d(2)
    state = {"x." + key: torch.ones_like(value) * 3 for key, value in layer.state_dict().items()}
    missing, unexpected, errors = [], [], []
    layer._load_from_state_dict({**state, "x.more": 1}, "x.", {"version": 2}, True, missing, unexpected, errors)
    assert (missing, unexpected, errors) == ([], ["x.more"], [])
    assert layer.weight.tolist() == [3.0, 3.0]
    assert layer.num_batches_tracked.item() == 3


def test_loading_records_no_graph_and_extra_state_comes_last():
    class Extra(nn.Linear):
        def get_extra_state(self):
            return 5

        def set_extra_state(self, state):
            self.seen = (state, self.bias.tolist(), torch.is_grad_enabled())

    net = nn.Sequential(Extra(1, 1), nn.Linear(1, 1))
    state = net.state_dict()
    state["0.bias"] = torch.full((1,), 2.0, requires_grad=True)
    net.load_state_dict(state)
    assert net[0].seen == (5, [2.0], True)
    assert net[0].bias.grad_fn is None


def test_values_for_parameters_without_memory_are_not_lost_in_silence():
    given = nn.Linear(2, 3).state_dict()
    bare = nn.Linear(2, 3, device="meta")
    with pytest.warns(UserWarning, match=r"for weight: .* meta parameter .* assign=True"):
        bare.load_state_dict(given)
    assert bare.weight.is_meta
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bare.load_state_dict(nn.Linear(2, 3, device="meta").state_dict())
        bare.load_state_dict(given, assign=True)
    assert bare.weight.tolist() == given["weight"].tolist()


def test_a_module_that_loads_its_own_part_less_strictly_misses_nothing():
    class Lenient(torch.nn.Linear):
        def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *lists):
            super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *lists)

    layer = torch.nn.Sequential(Lenient(1, 1))
    keys = layer.load_state_dict({"0.weight": torch.tensor([[3.0]]), "0.other": torch.ones(1)})
    assert keys == ([], []) and layer[0].weight.item() == 3


def test_a_post_hook_of_state_dict_returns_nothing_and_is_not_registered_again():
    def hook(module, state, prefix, metadata):
        return {}

    layer = nn.Linear(1, 1)
    layer.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None .* got dict"):
        layer.state_dict()
    with pytest.raises(RuntimeError, match="already registered by register_state_dict_post_hook"):
        layer._register_state_dict_hook(hook)


def _note(module, *rest):
    module.noted = True


def test_a_hook_of_loading_does_not_keep_its_module():
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_pre_hook(_note)
    (hook,) = layer._load_state_dict_pre_hooks.values()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        other.load_state_dict(layer.state_dict())
        assert other.noted and not hasattr(layer, "noted")
    gc.disable()
    try:
        gone = weakref.ref(layer)
        del layer, other
        assert gone() is None
    finally:
        gc.enable()
    with pytest.raises(RuntimeError, match="its module is gone"):
        hook({}, "", {}, True, [], [], [])


@pytest.mark.parametrize("assign", [False, True])
def test_what_waits_for_its_shape_loads_from_what_waits_too(assign):
    layer = nn.LazyBatchNorm1d()
    layer.load_state_dict(nn.LazyBatchNorm1d().state_dict(), assign=assign)
    assert layer.has_uninitialized_params()
    assert layer(torch.ones(2, 3)).shape == (2, 3)


@pytest.mark.parametrize("place", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_a_place_without_a_shape_is_not_shared(place):
    layer = nn.Module()
    layer.place = place()
    with pytest.raises(RuntimeError, match=f"share_memory_: {place.__name__} has no memory to share yet"):
        layer.share_memory()
