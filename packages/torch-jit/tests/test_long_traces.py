"""A trace of many calls: what cannot come again is forgotten, and what can is known."""

import pytest
import torch


def test_values_that_nothing_refers_to_are_let_go_while_a_trace_goes_on():
    storages = []

    def steps(x):
        for _ in range(200):
            x = x * 1.01
            storages.append(x.untyped_storage().data_ptr())
        return x

    x = torch.randn(64, 64)
    traced = torch.jit.trace(steps, x, check_trace=False)
    assert len(set(storages)) < 100  # memory is used again, as in a run
    assert torch.equal(traced(x), steps(x))


def test_a_value_that_lives_on_as_an_alias_only_is_still_known():
    def steps(x):
        y = x * 2
        z = y.data
        w = (x + 3).detach()
        del y
        for _ in range(100):
            x = x + 1
        return x + z + w

    x = torch.randn(3)
    traced = torch.jit.trace(steps, x, check_trace=False)
    other = torch.randn(3)
    assert torch.equal(traced(other), steps(other))


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_values_that_are_used_much_later_are_still_known(count):
    def steps(x):
        kept, views = [], []
        for i in range(count):
            x = torch.sin(x) + i
            if i % 7 == 0:
                kept.append(x)
            if i % 5 == 0:
                views.append((x * 3)[1:])
        return sum(kept) + torch.cat(views).sum()

    x = torch.randn(4)
    traced = torch.jit.trace(steps, x, check_trace=False)
    other = torch.randn(4)
    assert torch.equal(traced(other), steps(other))


def test_numbers_that_calls_have_in_common_are_written_once():
    graph = torch.jit.trace(lambda x: ((x + 1) + x) + x, torch.ones(2)).graph
    assert str(graph).count("prim::Constant[value=1]") == 1
