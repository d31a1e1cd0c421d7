import inspect
import types

import pytest
import torch

NAMED = [
    n
    for n, m in vars(torch.Tensor).items()
    if isinstance(m, types.WrapperDescriptorType) and ">>>" in (getattr(torch.Tensor, n).__doc__ or "")
]


def test_special_methods_name_their_arguments_and_show_an_example():
    assert str(inspect.signature(torch.Tensor.__sub__)) == "(self, other, /)"
    assert str(inspect.signature(torch.Tensor.__setitem__)) == "(self, indices, value, /)"
    assert torch.Tensor.__sub__.__doc__ == "``x - other``.\n\n>>> torch.tensor([3.0]) - 1\ntensor([2.])"
    assert len(NAMED) > 45


@pytest.mark.parametrize("name", NAMED)
def test_the_example_of_a_special_method_runs(name):
    import doctest

    found = []
    test = doctest.DocTestParser().get_doctest(getattr(torch.Tensor, name).__doc__, {"torch": torch}, name, None, 0)
    doctest.DocTestRunner().run(test, out=found.append)
    assert not found, "".join(found)


def test_operators_of_subclasses_go_the_short_way():
    # A type whose method is a wrapper of the slot's own function takes over that function; any other kind of method
    # makes Python look it up by name at each operation.
    assert isinstance(torch.Tensor.__dict__["__add__"], types.WrapperDescriptorType)

    class Own(torch.Tensor):
        pass

    class Other(torch.Tensor):
        def __add__(self, other):
            return "mine"

    x = torch.ones(2)
    assert torch.equal(x.as_subclass(Own) + 1, x + 1) and x.as_subclass(Other) + 1 == "mine"


def test_record_stream_and_index_of_2018():
    with pytest.raises(RuntimeError, match="record_stream: the tensor is on cpu, which has no streams"):
        torch.ones(1).record_stream(None)
    x = torch.arange(6).view(2, 3)
    assert torch.equal(x.index((None, torch.tensor([2, 0]))), x[:, [2, 0]]) and torch.equal(
        x.index(torch.tensor([1])), x[[1]]
    )


def test_names_that_libraries_look_for():
    from torch.sparse import _triton_ops, _triton_ops_meta

    assert _triton_ops_meta.get_meta("op", (1,)) is None
    with pytest.raises(NotImplementedError, match="no kernels in Triton to tune"):
        _triton_ops_meta.minimize(None, {}, {})
    with pytest.raises(NotImplementedError, match="torch.sparse._triton_ops.tile_to_blocksize: there are no kernels"):
        _triton_ops.tile_to_blocksize(torch.ones(2, 2), (1, 1))
    assert torch.meshgrid.__kwdefaults__ == {"indexing": None} and torch.fft.Tensor is torch.Tensor
    assert torch._C._distributed_rpc._is_current_rpc_agent_set() is False


@pytest.mark.parametrize("x", [torch.ones(2), torch.ones(2, dtype=torch.complex64)])
def test_no_bits_of_fractions_are_turned_around(x):
    with pytest.raises(TypeError, match=rf"only implemented on integer and Boolean-type tensors, not on {x.dtype}"):
        ~x


def test_a_tensor_has_a_number_of_its_own():
    x = torch.ones(2)
    assert x._cdata == x._cdata != x.view(2)._cdata


def test_hashes_are_those_of_the_function():
    x = torch.tensor([[1, 2], [4, 8]])
    assert torch.equal(x.hash_tensor(1), torch.hash_tensor(x, 1)) and x.hash_tensor().item() == 15
