"""Functions of torch that no global leads to: they lie in lists, dicts, closures and partials."""

import functools
import inspect
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import fx
from torch.fx import _patches

X = torch.arange(48.0).reshape(1, 3, 4, 4) / 48
# pairs of a function and what comes after the tensor
CALLS = [
    (F.softmin, (1,)), (F.softsign, ()), (F.tanhshrink, ()), (F.glu, (2,)), (F.normalize, ()), (F.pad, ((1, 1),)),
    (F.interpolate, (None, 2.0)), (F.adaptive_avg_pool2d, (2,)), (F.group_norm, (3,)), (F.instance_norm, ()),
    (F.mse_loss, (X + 1,)), (F.l1_loss, (X + 1,)), (F.smooth_l1_loss, (X + 1,)), (F.kl_div, (X,)), (F.unfold, (2,)),
    (F.binary_cross_entropy_with_logits, (X,)), (F.pixel_shuffle, (1,)), (F.cosine_similarity, (X + 1,)),
    (F.scaled_dot_product_attention, (X, X)), (F.lp_pool2d, (2.0, 2)), (F.local_response_norm, (2,)),
    (F.alpha_dropout, ()), (F.margin_ranking_loss, (X, X)), (torch.cdist, (X,)), (torch.tensordot, (X, 1)),
    (torch.unique, ()), (torch.relu, ()), (torch.softmax, (1,)),
]  # fmt: skip


def in_a_list(func, args):
    row = [func]
    return lambda x: row[0](x, *args)


def in_a_partial(func, args):
    table = {"it": functools.partial(func)}
    return lambda x: table["it"](x, *args)


@pytest.mark.parametrize("held", [in_a_list, in_a_partial])
@pytest.mark.parametrize("func, args", CALLS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_function_is_one_node_wherever_it_lies(func, args, held):
    if func is torch.tensordot:
        args = (X.transpose(0, 3), 1)
    program = held(func, args)
    traced = fx.symbolic_trace(program)
    (node,) = (n for n in traced.graph.nodes if n.op == "call_function")
    assert node.target is func
    torch.testing.assert_close(traced(X), program(X))


def test_defaults_are_spelt_out_as_for_a_function_with_a_name():
    row = [F.interpolate]
    found = [fx.symbolic_trace(program).code for program in (lambda x: row[0](x, 8), lambda x: F.interpolate(x, 8))]
    assert found[0] == found[1] and "scale_factor = None" in found[0]


def test_values_that_are_no_proxies_are_computed_while_tracing():
    row = [F.interpolate]
    traced = fx.symbolic_trace(lambda x: x + row[0](torch.ones(1, 1, 2, 2), scale_factor=2.0).sum())
    assert traced(torch.zeros(1)).tolist() == [16]


def test_functions_have_their_own_code_and_source_again():
    codes = {func: func.__code__ for func in _patches.written()}
    row, seen = [F.pad], []

    def program(x):
        seen.append(inspect.getsource(row[0]).partition("(")[0])
        return row[0](x, (1, 1))

    def fails(x):
        raise KeyError(row[0](x, (1, 1)))

    fx.symbolic_trace(program)
    with pytest.raises(KeyError):
        fx.symbolic_trace(fails)
    assert seen == ["def pad"] and not _patches._codes
    assert all(func.__code__ is code for func, code in codes.items())


def test_wrong_arguments_raise_as_they_do_outside_of_a_trace():
    row = [F.interpolate]
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        fx.symbolic_trace(lambda x: row[0](x, bogus=1))


def test_other_threads_compute_while_some_trace():
    row, wrong = [F.interpolate], []

    def traces():
        for _ in range(10):
            traced = fx.symbolic_trace(lambda x: row[0](x, scale_factor=2.0))
            if [n.op for n in traced.graph.nodes] != ["placeholder", "call_function", "output"]:
                wrong.append(traced.code)

    def computes():
        for _ in range(100):
            found = row[0](X, scale_factor=2.0)
            if type(found) is not torch.Tensor or found.shape != (1, 3, 8, 8):
                wrong.append(found)

    threads = [threading.Thread(target=work) for work in (traces, traces, computes, computes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not _patches._codes
