import torch
from torch.autograd import _C, _help


def derivative(operator):
    return operator.__doc__.partition("Derivative")[2].partition("\n\n")[0]


def test_help_of_an_operator_has_the_formula_of_its_derivative():
    assert derivative(torch.exp) == ", with g the gradient of the result:\n    g * conj(result)"
    assert derivative(torch.mul).splitlines()[1:] == ["    self: g * conj(other)", "    other: g * conj(self)"]


def test_several_steps_are_told_as_the_statements_that_compute_them():
    assert "grad_other = mv(adjoint(rows), reshape(g, {-1}));" in derivative(torch.matmul)


def test_what_has_no_formula_says_why():
    assert derivative(torch.floor) == ": zero everywhere: steps and constants."
    assert derivative(torch.svd) == ": written in other operators, whose derivatives the tape records."
    assert derivative(torch.argmax).startswith(": none: the result does not change continuously")


def test_each_row_that_is_recorded_has_lines():
    recorded = [schema for schema, how in _C._differentiability().items() if how not in _help.DIFFERENTIABILITY]
    assert len(recorded) > 200
    lacking = [s for s in recorded if not (_help.formulas().get(s) or _help.formulas().get(s.partition("(")[0]))]
    assert lacking == []
