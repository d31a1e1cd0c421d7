"""``torch.compile`` against the function as it is: results, gradients, changes of arguments and of modules, output."""

import random

import compile_cases
import compile_traps
import compile_traps_values  # noqa: F401
import pytest
import torch
from compiling import deep_equal, flat, programs_run, run  # noqa: F401  (a fixture of every test)


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", sorted(compile_cases.CASES))
def test_compiled_functions_do_what_the_functions_do(name, mode, capsys):
    torch.compiler.reset()
    expected, printed, _ = run(name, False, mode, capsys)
    found, also, called = run(name, True, mode, capsys)
    assert deep_equal(found, expected)
    assert also == printed
    captured = compile_cases.CASES[name][2]
    if captured is not None:
        compiled = called._compiled
        assert (compiled.reason is None) is captured, compiled.reason


@pytest.mark.parametrize("name", sorted(compile_traps.TRAPS))
def test_traps_are_seen(name):
    def outcomes(compiled):
        torch.manual_seed(0)
        random.seed(0)
        make, calls = compile_traps.TRAPS[name]
        function = make()
        called = torch.compile(function) if compiled else function
        found = []
        for args in calls():
            try:
                found.append((flat(called(*args)), flat(list(args))))
            except Exception as error:
                found.append((type(error), str(error).partition("\n")[0]))
        return found

    assert deep_equal(outcomes(True), outcomes(False))


def test_keywords_of_a_later_overload_are_captured():
    def f(x):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()

    x = torch.randn(6, 40)
    assert torch.equal(torch.compile(f, fullgraph=True)(x), f(x))


def test_parameters_of_a_module_among_the_arguments_are_named():
    def penalty(net, x):
        named = sum(p.sum() * len(name) for name, p in net.named_parameters())
        return net(x) + named + sum(p.square().sum() for p in net.parameters())

    compiled = torch.compile(penalty, fullgraph=True)
    for _ in range(2):
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        assert torch.equal(compiled(net, torch.ones(2)), penalty(net, torch.ones(2)))
        net[1].weight = net[0].weight  # which is counted once
        assert torch.equal(compiled(net, torch.ones(2)), penalty(net, torch.ones(2)))
