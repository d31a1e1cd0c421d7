"""What layers written for other versions import: torch.nn.modules.utils, torch.nn._reduction, F.grad, old reductions."""

import collections
import inspect
import subprocess
import sys
import warnings

import pytest
import torch
import torch.nn._reduction as reductions
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import utils


@pytest.mark.parametrize(("name", "n"), [("_single", 1), ("_pair", 2), ("_triple", 3), ("_quadruple", 4)])
def test_a_number_is_repeated_and_a_sequence_taken_as_it_is(name, n):
    function = getattr(utils, name)
    assert function.__name__ == name
    assert function(3) == (3,) * n
    assert function(None) == (None,) * n
    for given in ([1, 2], (1, 2), range(1, 3), torch.Size([1, 2]), {1: 0, 2: 0}):
        assert function(given) == (1, 2)
    assert utils._ntuple(n)(0.5) == (0.5,) * n


def test_sizes_with_defaults_and_reversed():
    assert utils._reverse_repeat_tuple((1, 2, 3), 2) == (3, 3, 2, 2, 1, 1)
    assert utils._list_with_default(5, [1, 2]) == 5
    assert utils._list_with_default((None, 3), [1, 4, 5]) == [4, 3]
    with pytest.raises(ValueError, match="Input dimension should be at least 3, got 2"):
        utils._list_with_default((1, 2), [4, 5])


def test_a_prefix_is_taken_off_keys_and_metadata_in_place():
    net = nn.Sequential(collections.OrderedDict(module=nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))))
    state = net.state_dict()
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(net.module.state_dict())
    assert {"", "0", "1"} == set(state._metadata)
    assert state._metadata["1"] == {"version": 2}
    before = dict(state)
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert dict(state) == before


def test_reductions_have_numbers_and_old_booleans_have_names():
    assert [reductions.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="'most' is not a valid value for reduction"):
        reductions.get_enum("most")
    for size_average in (None, True, False):
        for reduce in (None, True, False):
            name = "none" if reduce is False else "sum" if size_average is False else "mean"
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert reductions.legacy_get_string(size_average, reduce, emit_warning=False) == name
            with pytest.warns(UserWarning, match=f"please use reduction='{name}'"):
                assert reductions.legacy_get_enum(size_average, reduce) == reductions.get_enum(name)


def test_functional_leads_to_gradients_of_convolutions_and_old_helpers():
    assert F.grad is nn.grad
    assert F._pair(2) == (2, 2)
    assert F._Reduction.get_enum("mean") == 1
    x, w = torch.randn(1, 2, 5, dtype=torch.float64), torch.randn(3, 2, 3, dtype=torch.float64)
    g = torch.randn(1, 3, 3, dtype=torch.float64)
    (expected,) = torch.autograd.grad(F.conv1d(x.requires_grad_(), w), x, g)
    assert torch.equal(F.grad.conv1d_input(x.shape, w, g), expected)


def _losses():
    """Every loss with a reduction: name, arguments."""
    x = torch.rand(3, 4, dtype=torch.float64) * 0.5 + 0.25
    y, sign, classes = x.flip(0).clone(), torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64), torch.tensor([0, 3, 1])
    arguments = {
        "nll_loss": (x.log(), classes),
        "cross_entropy": (x, classes),
        "multi_margin_loss": (x, classes),
        "multilabel_margin_loss": (x, torch.tensor([[0, 2, -1, 0]] * 3)),
        "margin_ranking_loss": (x[:, 0], y[:, 0], sign),
        "cosine_embedding_loss": (x, y, sign),
        "hinge_embedding_loss": (x[:, 0], sign),
        "soft_margin_loss": (x[:, 0], sign),
        "triplet_margin_loss": (x, y, x * x),
        "triplet_margin_with_distance_loss": (x, y, x * x),
        "gaussian_nll_loss": (x, y, x),
        "ctc_loss": (x.log().unsqueeze(1), torch.tensor([[1, 2]]), torch.tensor([3]), torch.tensor([2])),
    }
    for name in dir(F):
        function = getattr(F, name)
        if callable(function) and not isinstance(function, type) and name[0] != "_" and "loss" in name + "entropy":
            try:
                parameters = inspect.signature(function).parameters
            except (TypeError, ValueError):
                continue
            if "reduction" in parameters:
                yield name, function, arguments.get(name, (x, y))


@pytest.mark.parametrize(
    ("name", "function", "args"), list(_losses()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_mean_under_its_name_of_0_4_is_the_mean_with_a_warning(name, function, args):
    with pytest.warns(UserWarning, match="reduction='elementwise_mean' is deprecated"):
        old = function(*args, reduction="elementwise_mean")
    assert torch.equal(old, function(*args, reduction="mean"))
    assert old.dim() == 0
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        function(*args, reduction="elementwise_sum")


def test_loss_modules_take_the_old_name_and_keep_it():
    loss = nn.MSELoss(reduction="elementwise_mean")
    with pytest.warns(UserWarning, match="elementwise_mean"):
        assert loss(torch.ones(2), torch.zeros(2)).item() == 1.0
    assert loss.reduction == "elementwise_mean"


PARTS = ["attention", "functional", "grad", "init", "modules", "parallel", "utils"]


@pytest.mark.parametrize("first", ["", "torch.nn.modules.utils", "torch.nn.functional", "torch.nn.utils"])
def test_each_part_is_itself_whatever_was_imported_first(first):
    code = f"import torch\n{f'import {first}' if first else ''}\nfrom torch import nn\n"
    code += "".join(f"assert nn.{part}.__name__ == 'torch.nn.{part}', nn.{part}\n" for part in PARTS)
    code += "assert nn.modules.utils.__name__ == 'torch.nn.modules.utils' and nn.utils.weight_norm\n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_submodules_are_found_without_an_import_of_their_own():
    import subprocess
    import sys

    code = "import torch; torch.nn.intrinsic.qat.freeze_bn_stats; torch.nn.qat.Linear; torch.nn.common_types._size_2_t"
    subprocess.run([sys.executable, "-c", code], check=True)
