"""Names of parameters, buffers and modules: how attributes register, and what is refused."""

import ast
import copy
import dataclasses
import gc
import pickle
import subprocess
import sys
import weakref

import pytest
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU())
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module", "register_module"])
@pytest.mark.parametrize(("name", "error"), [("", "empty string"), ("a.b", 'contain "."')])
def test_names_are_neither_empty_nor_contain_a_dot(register, name, error):
    with pytest.raises(KeyError, match=error):
        getattr(nn.Module(), register)(name, None)


@pytest.mark.parametrize("value", [nn.Parameter(torch.zeros(1)), nn.Linear(1, 1), nn.Buffer(torch.zeros(1))])
@pytest.mark.parametrize("name", ["", "a.b"])
def test_assigning_under_such_a_name_is_refused_too(name, value):
    module = nn.Module()
    with pytest.raises(KeyError, match="name can"):
        setattr(module, name, value)
    assert not hasattr(module, name)


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module"])
def test_a_name_that_is_taken_or_no_string_is_refused(register):
    with pytest.raises(KeyError, match="'forward' already exists"):
        getattr(nn.Module(), register)("forward", None)
    with pytest.raises(TypeError, match="should be a string, got int"):
        getattr(nn.Module(), register)(1, None)


def test_attributes_register_in_the_order_of_assignment():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias", "second.0.weight"]
    assert [name for name, _ in net.named_buffers()] == ["count"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]


def test_the_dicts_and_the_attributes_are_one():
    layer = nn.Linear(2, 3)
    new = nn.Parameter(torch.zeros(3, 2))
    layer._parameters["weight"] = new
    assert layer.weight is new
    del layer.weight
    assert "weight" not in layer._parameters
    assert not hasattr(layer, "weight")
    layer._parameters.update(weight=new)
    assert layer.weight is new
    assert layer._parameters.pop("bias").shape == (3,)
    assert not hasattr(layer, "bias")
    layer._parameters = {"weight": new, "other": None}
    assert layer.other is None
    layer._parameters.clear()
    assert not hasattr(layer, "weight")


def test_none_keeps_the_name_and_takes_a_parameter_later():
    layer = nn.Linear(2, 3, bias=False)
    assert layer.bias is None
    assert "bias" in layer._parameters
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    layer.bias = nn.Parameter(torch.zeros(3))
    assert len(list(layer.parameters())) == 2
    layer.bias = None
    assert layer.bias is None
    assert len(list(layer.parameters())) == 1


def test_a_registered_name_refuses_other_things():
    net = Net()
    with pytest.raises(TypeError, match=r"cannot assign 'int' as parameter 'scale' \(torch.nn.Parameter or None"):
        net.scale = 1
    with pytest.raises(TypeError, match="cannot assign .*Tensor' as parameter 'scale'"):
        net.scale = torch.zeros(1)
    with pytest.raises(TypeError, match="cannot assign 'str' as child module 'first'"):
        net.first = "linear"
    with pytest.raises(TypeError, match="cannot assign 'float' as buffer 'count'"):
        net.count = 0.5
    net.count = torch.ones(2)
    assert [tuple(b.shape) for b in net.buffers()] == [(2,)]


def test_an_attribute_may_change_its_kind():
    module = nn.Module()
    module.x = 5
    module.x = nn.Parameter(torch.zeros(1))
    assert list(module._parameters) == ["x"]
    module.x = nn.Linear(1, 1)
    assert list(module._modules) == ["x"]
    assert not module._parameters
    del module.x
    module.x = 5
    assert module.x == 5


def test_assigning_before_init_says_what_to_call():
    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call: Early.__init__ must first call super"):
        Early()

    class Never(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match=r"Never.__init__ has not called super\(\).__init__\(\)"):
        Never()(1)


def test_a_missing_attribute_suggests_the_nearest():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'frist'. Did you mean: 'first'"):
        Net().frist


def test_no_private_name_is_suggested():
    with pytest.raises(AttributeError, match="^'ReLU' object has no attribute 'missing'$"):
        nn.ReLU().missing


def test_parameters_must_be_parameters_and_leaves():
    module = nn.Module()
    with pytest.raises(TypeError, match="cannot assign .*Tensor' object to parameter 'w'"):
        module.register_parameter("w", torch.zeros(1))
    with pytest.raises(TypeError, match="data must be a Tensor, got list"):
        nn.Parameter([1.0])
    with pytest.raises(TypeError, match="cannot assign 'int' object to buffer 'b'"):
        module.register_buffer("b", 1)
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        module.add_module("m", 1)


def test_a_shared_parameter_or_module_appears_once():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer)
    assert len(list(net.parameters())) == 2
    assert len(list(net.children())) == 1
    assert [name for name, _ in net.named_parameters(remove_duplicate=False)] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
    ]
    net[0].weight = nn.Parameter(torch.zeros(2, 2))
    assert net[1].weight is net[0].weight


def test_paths_lead_to_modules_parameters_and_buffers():
    net = Net()
    assert net.get_submodule("") is net
    assert net.get_submodule("second.0") is net.second[0]
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.get_buffer("count") is net.count
    net.set_submodule("second.1", nn.Tanh())
    assert isinstance(net.second[1], nn.Tanh)
    with pytest.raises(AttributeError, match="Net has no submodule 'third'.*it has: first, second"):
        net.get_submodule("third")
    with pytest.raises(AttributeError, match="'scale'.*is a Parameter, not an nn.Module"):
        net.get_submodule("scale")
    with pytest.raises(AttributeError, match="'count'.*is not an nn.Parameter"):
        net.get_parameter("count")


def test_dir_and_vars_show_registered_names():
    net = Net()
    assert {"first", "second", "scale", "count", "forward"} <= set(dir(net))
    assert "0" not in dir(net.second)


def test_deepcopy_is_independent_and_keeps_sharing():
    net = Net()
    net.alias = net.first
    twin = copy.deepcopy(net)
    assert twin.alias is twin.first
    assert twin.first.weight is not net.first.weight
    assert isinstance(twin.scale, nn.Parameter)
    with torch.no_grad():
        twin.first.weight.fill_(7.0)
    assert not (net.first.weight == 7.0).any()
    twin.first.weight = nn.Parameter(torch.zeros(3, 2))
    assert twin._modules["first"].weight is twin.first.weight


def test_shallow_copy_shares_parameters_and_the_dicts():
    net = Net()
    twin = copy.copy(net)
    assert twin.scale is net.scale
    twin.scale = None
    assert net.scale is None


def test_dropping_a_model_frees_it_without_the_garbage_collector():
    gc.disable()
    try:
        net = Net()
        weight = weakref.ref(net.first.weight)
        net = weakref.ref(net)
        assert net() is None
        assert weight() is None
    finally:
        gc.enable()


def test_unexpected_arguments_of_init_are_refused():
    with pytest.raises(TypeError, match=r"Module.__init__\(\) got unexpected arguments: 'size'"):
        nn.Module(size=1)


def test_pickle_round_trip(tmp_path):
    layer = nn.Linear(2, 3)
    layer.note = "kept"
    try:
        twin = pickle.loads(pickle.dumps(layer))
    except Exception as error:
        if "torch-serialize" in str(error):
            pytest.skip("tensors pickle through torch-serialize")
        raise
    assert torch.equal(twin.weight, layer.weight)
    assert twin.note == "kept"
    assert twin.weight.requires_grad


def test_registration_hooks_see_and_replace():
    from torch.nn.modules.module import register_module_parameter_registration_hook

    seen = []
    with register_module_parameter_registration_hook(lambda module, name, p: seen.append(name)):
        nn.Linear(1, 1).extra = nn.Parameter(torch.zeros(1))
    nn.Module().register_parameter("later", None)
    assert "extra" in seen
    assert "later" not in seen


def test_the_names_of_the_guide_of_0_4_work():
    module = nn.Module()
    module.add_parameter("w", nn.Parameter(torch.zeros(1)))
    module.add_buffer("b", torch.zeros(1))
    assert list(module.state_dict()) == ["w", "b"]


def test_iterators_hold_up_under_data_parallel_style_copies():
    net = Net()
    replica = net._replicate_for_data_parallel()
    replica._parameters["scale"] = nn.Parameter(torch.zeros(1))
    assert net.scale.item() == 1.0
    assert replica.scale.item() == 0.0


def test_gradients_of_copies_for_devices_reach_the_tensors():
    from torch.nn.parallel.replicate import _broadcast_coalesced_reshape

    w, b = torch.ones(2, requires_grad=True), torch.zeros(1, requires_grad=True)
    copies = _broadcast_coalesced_reshape([w, b], ["cpu", "cpu"])
    (copies[0][0] * 2 + copies[1][0] * copies[1][1]).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0] and b.grad.tolist() == [2.0]
    apart = _broadcast_coalesced_reshape([w], ["cpu"], detach=True)
    assert not apart[0][0].requires_grad and apart[0][0].tolist() == [1.0, 1.0]


def test_tensors_are_found_in_what_a_model_gives():
    from torch.nn.parallel.distributed import _find_tensors

    @dataclasses.dataclass
    class Output:
        loss: torch.Tensor
        more: list

    a, b, c = torch.ones(3).unbind()
    assert [id(t) for t in _find_tensors(Output(a, [{"b": b}, 2, (c, None)]))] == [id(a), id(b), id(c)]
    assert _find_tensors("text") == _find_tensors(Output) == []


def test_names_that_libraries_import_from_the_modules_file():
    from torch.nn.modules.module import _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys

    keys = torch.nn.Linear(1, 1).load_state_dict({"weight": torch.ones(1, 1), "more": torch.ones(1)}, strict=False)
    assert (
        type(keys) is _IncompatibleKeys and keys == (["bias"], ["more"]) and _EXTRA_STATE_KEY_SUFFIX == "_extra_state"
    )
    assert torch.nn.init._no_grad_fill_(torch.zeros(2), 3.0).tolist() == [3.0, 3.0]


def test_libraries_find_late_layers_in_the_dictionaries_of_the_packages():
    code = (
        "import sys, torch.nn\n"
        "print('torch.nn.modules.rnn' in sys.modules)\n"
        "print({'LSTM', 'Transformer'} <= vars(torch.nn).keys(), {'LSTM', 'Transformer'} <= vars(torch.nn.modules).keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "True"], done.stdout + done.stderr


def test_importing_nn_loads_nothing_that_waits_for_help_or_files():
    code = "import sys\nknown = set(sys.modules)\nimport torch.nn\nprint(sorted(set(sys.modules) - known))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = set(ast.literal_eval(done.stdout))
    assert "torch.nn.modules.conv" in loaded and not loaded & {"torch._help", "inspect", "pickle", "re", "typing"}


def test_replacing_a_function_replaces_what_its_module_computes(monkeypatch):
    x = torch.ones(1, 1, 3, 3)
    monkeypatch.setattr(nn.functional, "conv2d", lambda input, *others: input + 1)
    assert nn.Conv2d(1, 1, 3)(x).equal(x + 1)


def test_pieces_of_parallel_have_their_old_names_and_a_gradient():
    from torch.nn.parallel._functions import Broadcast, Gather, Scatter

    x = torch.arange(6.0).view(3, 2).requires_grad_()
    parts = Scatter.apply(["cpu", "cpu"], [1, 2], 0, x)
    assert [p.shape[0] for p in parts] == [1, 2]
    joined = Gather.apply(-1, 0, *(3 * p for p in Broadcast.apply(["cpu"], *parts)))
    joined.sum().backward()
    assert torch.equal(joined, 3 * x) and torch.equal(x.grad, torch.full((3, 2), 3.0))
    with pytest.raises(ValueError, match=r"2 parts \[1, 2\] for 1 devices"):
        Scatter.apply(["cpu"], [1, 2], 0, x)
