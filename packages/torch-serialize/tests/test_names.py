"""Small functions that other libraries take from torch.serialization."""

import types

import pytest
from torch.serialize import check_module_version_greater_or_equal as newer


def module(version):
    return types.SimpleNamespace(__name__="m", __version__=version)


def test_versions_are_compared_by_number():
    assert (
        newer(module("0.10.1"), (0, 9)) and not newer(module("0.9"), (0, 10)) and newer(module("1.2.3.dev0"), (1, 2, 3))
    )


def test_a_version_that_is_none_is_an_error_or_a_warning():
    with pytest.raises(RuntimeError, match="m: its version 'x.y' cannot be compared"):
        newer(module("x.y"), (1, 2))
    with pytest.warns(UserWarning, match="taken for new enough"):
        assert newer(module("x.y"), (1, 2), error_if_malformed=False)


def test_a_missing_gpu_is_told():
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "Tensor") or torch.cuda.is_available():
        pytest.skip("for torch-core without a GPU")
    with pytest.raises(RuntimeError, match="no CUDA device"):
        torch.serialization.validate_cuda_device("cuda:1")
