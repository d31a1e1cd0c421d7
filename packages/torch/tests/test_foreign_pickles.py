"""A plain pickle that PyTorch 2.13 wrote: tensors, whole models with what they computed, an optimizer in training."""

import pathlib
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("torch.nn", reason="pickled models need the whole stack")
pytest.importorskip("torch.optim", reason="pickled optimizers need the whole stack")
pytest.importorskip("torch.serialize", reason="pickled storages are files of their own")

import torch
from torch import nn

FILE = pathlib.Path(__file__).parent / "data" / "pytorch_2_13.pkl"


@pytest.fixture
def pickled():
    return pickle.loads(FILE.read_bytes())


def test_tensors_have_their_values(pickled):
    tensors = pickled["tensors"]
    wanted = {
        "plain": [[0, 1, 2], [3, 4, 5]],
        "view": [[1, 4], [2, 5]],
        "conjugate": [1 - 2j, 3 + 1j],
        "imaginary": [-2, 1],
        "bytes": [1, 255],
        "half": [1.5],
    }
    assert {name: tensors[name].tolist() for name in wanted} == wanted
    assert tensors["half"].dtype == tensors["dtype"] == torch.bfloat16
    assert tensors["sparse"].layout == tensors["layout"] and tensors["sparse"].to_dense().tolist() == [[1, 0], [0, 1]]
    assert tensors["meta"].is_meta and tensors["meta"].shape == (2, 3)
    assert tensors["storage"].tolist() == [0, 1, 2, 3, 4, 5] and tensors["storage"].dtype == torch.float64
    assert (tensors["size"], tensors["device"]) == (torch.Size([1, 2]), torch.device("cpu"))


def test_gradients_and_attributes_come_along(pickled):
    tensors = pickled["tensors"]
    assert tensors["leaf"].requires_grad and not tensors["plain"].requires_grad
    assert type(tensors["parameter"]) is nn.Parameter and not tensors["parameter"].requires_grad
    assert tensors["tagged"].tag == "w" and tensors["tagged"].requires_grad and tensors["attributes"].note == "n"


@pytest.mark.parametrize("number", range(5))
def test_models_compute_what_they_computed_there(pickled, number):
    model, x, y = pickled["models"][number]
    for module in (pickle.loads(pickle.dumps(model)), model):
        torch.testing.assert_close(module(torch.tensor(x)).detach(), torch.tensor(y), rtol=1e-5, atol=1e-6)


def test_training_goes_on(pickled):
    net, adam = pickled["training"]
    state = adam.state[net.weight]
    assert state["step"] == 1
    before = net.weight.detach().clone()
    net(torch.ones(1, 2)).sum().backward()
    adam.step()
    # The gradient is 1 in both steps, so the step is lr * 1 after the decay lr * 0.01 of the weight.
    torch.testing.assert_close(net.weight.detach(), before * (1 - 0.1 * 0.01) - 0.1, rtol=1e-5, atol=1e-6)


def test_the_hooks_of_a_model_from_elsewhere_stay_beside_new_ones(pickled):
    model = pickled["models"][2][0]
    there = dict(model._forward_pre_hooks)
    handles = [model.register_forward_pre_hook(lambda module, inputs: None) for _ in range(3)]
    assert there.items() <= model._forward_pre_hooks.items() and len(model._forward_pre_hooks) == len(there) + 3
    for handle in handles:
        handle.remove()
    assert model._forward_pre_hooks == there


class Marked(torch.Tensor):
    pass


@pytest.mark.parametrize("state", [{"note": "n"}, (None, {"note": "n"})])
def test_a_tensor_of_another_class_is_rebuilt_as_one(state):
    from torch._tensor import _rebuild_from_type_v2
    from torch._utils import _rebuild_tensor_v2

    args = torch.arange(4.0).storage(), 1, (2,), (1,), True, {}
    tensor = _rebuild_from_type_v2(_rebuild_tensor_v2, Marked, args, state)
    assert type(tensor) is Marked and tensor.note == "n" and tensor.requires_grad
    assert tensor.tolist() == [1, 2]


def test_programs_look_for_the_words_of_pickles_without_importing_their_module():
    code = "import torch; torch._utils._rebuild_tensor_v2; print(torch._utils.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "torch._utils\n"
