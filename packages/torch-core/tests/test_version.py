"""torch.__version__ compares as a version."""

import copy
import itertools
import pickle

import pytest
import torch
from torch.torch_version import TorchVersion as V


def test_it_is_a_string_and_compares_with_strings_and_tuples():
    assert isinstance(torch.__version__, str) and torch.__version__ == str(torch.__version__)
    assert torch.__version__ >= (2, 1) and torch.__version__ > "2.9" and not torch.__version__ < "1.13.0"
    assert hash(torch.__version__) == hash(str(torch.__version__)) and torch.__version__.split("+")[1].startswith(
        "core."
    )


def test_the_order_of_versions():
    order = ["2.0.dev1", "2.0a1", "2.0b2", "2.0rc1", "2.0", "2.0+local", "2.0.post1", "2.0.1", "2.10"]
    for low, high in itertools.pairwise(order):
        assert V(low) < high and V(high) > low and V(low) <= high and V(high) >= low and V(low) != high
    assert V("2.0") == "2.0.0" and V("2.0") == (2, 0) and V("1.9") < V("1.10")


def test_words_that_are_no_versions_compare_as_strings():
    assert V("nightly") < "zoo" and V("2.0") != 2
    with pytest.raises(TypeError, match="not with int"):
        V("2.0") > 2  # noqa: B015


def test_copies():
    for other in (pickle.loads(pickle.dumps(torch.__version__)), copy.deepcopy(torch.__version__)):
        assert other == torch.__version__ and type(other) is V
