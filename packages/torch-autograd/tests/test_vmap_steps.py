"""The steps of vmap under the names of PyTorch's module, which libraries put their own functions in the place of."""

import pytest
import torch
from torch import Tensor
from torch.func import vmap

steps = pytest.importorskip("torch._functorch.vmap")
if not hasattr(steps, "is_replaced"):
    pytest.skip("needs a newer torch-core", allow_module_level=True)


class Pair:
    """A container that is no tree: two tensors, and the size that both begin with."""

    def __init__(self, a, b, size):
        self.a, self.b, self.size = a, b, size


@pytest.fixture
def replaced(monkeypatch):
    def process(in_dims, args, func):
        return args[0].size, [in_dims] * len(args), list(args), None

    def create(dims, flat, level, spec):
        return tuple(Pair(*(steps._add_batch_dim(x, d, level) for x in (p.a, p.b)), None) for p, d in zip(flat, dims))

    def unwrap(output, out_dims, level, size, func):
        both = (steps._maybe_remove_batch_dim("f", x, level, size, out_dims) for x in (output.a, output.b))
        return Pair(*both, size)

    monkeypatch.setattr(steps, "_process_batched_inputs", process)
    monkeypatch.setattr(steps, "_create_batched_inputs", create)
    monkeypatch.setattr(steps, "_unwrap_batched", unwrap)


def test_a_library_maps_over_containers_of_its_own(replaced):
    x, y = torch.arange(6.0).view(3, 2), torch.arange(12.0).view(3, 2, 2)

    def one(pair):
        assert pair.size is None and pair.a.shape == (2,) and pair.b.shape == (2, 2)
        return Pair(pair.b @ pair.a, torch.ones(1), None)

    found = vmap(one)(Pair(x, y, 3))
    assert torch.equal(found.a, (y @ x.unsqueeze(-1)).squeeze(-1)) and found.b.shape == (3, 1) and found.size == 3
    assert vmap(one, out_dims=1)(Pair(x, y, 3)).a.shape == (2, 3)


def test_the_mapping_ends_when_a_step_fails(replaced):
    def fails(pair):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        vmap(fails)(Pair(torch.ones(3, 2), torch.ones(3, 2), 3))
    assert torch._C._functorch.maybe_get_level(torch.ones(1)) == -1
    assert isinstance(vmap(lambda pair: pair)(Pair(torch.ones(3, 2), torch.ones(3, 2), 3)).a, Tensor)


def test_arguments_are_laid_out_by_their_dims():
    x = torch.arange(6.0).view(2, 3)
    size, dims, flat, spec = steps._process_batched_inputs((1, None), (x, torch.tensor(2.0)), torch.mul)
    assert (size, dims, len(flat)) == (3, [1, None], 2) and not steps.is_replaced()


def test_outputs_that_are_no_tensors_are_told(monkeypatch):
    monkeypatch.setattr(steps, "_create_batched_inputs", lambda *given: steps._OWN["_create_batched_inputs"](*given))
    assert steps.is_replaced()
    assert vmap(lambda x: x * 2)(torch.arange(3.0)).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="must only return Tensors, got type <class 'str'>"):
        vmap(lambda x: "text")(torch.arange(3.0))
    with pytest.raises(ValueError, match="out_dims is not laid out as the outputs"):
        vmap(lambda x: x, out_dims=(0, 0))(torch.arange(3.0))
