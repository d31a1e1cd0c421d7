"""Programs compiled by torch.jit.script give what Python gives, and PyTorch accepts what it is recorded to accept."""

import copy
import json
import pathlib

import pytest
import script_programs
import torch
from torch.jit._script.archive import texts_of
from torch.jit._script.reader import Code

RECORDED = json.loads((pathlib.Path(__file__).parent / "scripts.json").read_text())
RAISES = {"raises"}


def same(a, b):
    if isinstance(a, torch.Tensor):
        return (
            isinstance(b, torch.Tensor)
            and a.shape == b.shape
            and torch.allclose(a.double(), b.double(), equal_nan=True)
        )
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return a == b or abs(a - b) < 1e-6 * max(1.0, abs(a)) or (a != a and b != b)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("name", [name for name in script_programs.PROGRAMS if name not in RAISES])
def test_a_compiled_program_gives_what_python_gives(name):
    fn, args = script_programs.PROGRAMS[name]
    assert same(fn(*copy.deepcopy(args)), torch.jit.script(fn)(*copy.deepcopy(args)))


@pytest.mark.parametrize("name", [name for name in script_programs.PROGRAMS if name not in RAISES])
def test_the_text_of_a_program_is_compiled_to_the_same_program(name):
    fn, args = script_programs.PROGRAMS[name]
    compiled = torch.jit.script(fn)
    files, tensors = texts_of([compiled._run])
    again = Code(files, tensors).find(compiled.qualified_name).program().function
    assert same(torch.jit.script(fn)(*copy.deepcopy(args)), again(*copy.deepcopy(args)))


def test_every_program_that_pytorch_compiles_is_compiled():
    assert set(RECORDED) == set(script_programs.PROGRAMS)
    accepted = [name for name, entry in RECORDED.items() if entry["compiles"]]
    assert len(accepted) > 40  # and each is compiled by the tests above


def test_an_exception_of_a_program_is_that_of_python():
    fn, args = script_programs.PROGRAMS["raises"]
    with pytest.raises(ValueError, match="n is negative: -1"):
        torch.jit.script(fn)(*args)
    assert torch.jit.script(fn)(3) == 3


def test_a_failed_assertion_says_its_message():
    fn, _ = script_programs.PROGRAMS["asserts"]
    with pytest.raises(AssertionError, match="n is -5"):
        torch.jit.script(fn)(-5)


def test_the_mode_of_gradients_is_put_back_after_an_error():
    def fails(x, n: int):
        with torch.no_grad():
            if n > 0:
                raise ValueError("within")
            y = x * 2
        return y + 1

    compiled = torch.jit.script(fails)
    with pytest.raises(ValueError, match="within"):
        compiled(torch.ones(1), 1)
    assert torch.is_grad_enabled()
    assert not compiled(torch.ones(1, requires_grad=True), 0).requires_grad


def test_gradients_flow_through_loops_and_branches():
    def newton(x, n: int):
        y = x
        for _ in range(n):
            if bool(y.sum() > 3):
                y = y * 0.5
            else:
                y = y * y + x
        return y

    x = torch.tensor([0.5, 1.5], requires_grad=True)
    newton(x, 4).sum().backward()
    want, x.grad = x.grad, None
    torch.jit.script(newton)(x, 4).sum().backward()
    assert torch.equal(x.grad, want)


def test_arguments_have_defaults_and_names():
    @torch.jit.script
    def scaled(x, n: int = 2, *, by: float = 0.5):
        return x * n * by

    assert scaled(torch.ones(1)).item() == 1.0
    assert scaled(torch.ones(1), by=2.0).item() == 4.0
    assert scaled(x=torch.ones(1), n=3).item() == 1.5
    with pytest.raises(TypeError):
        scaled(torch.ones(1), m=3)


def test_a_function_is_compiled_once_and_looks_like_the_python_function():
    def documented(x):
        """Gives x."""
        return x

    compiled = torch.jit.script(documented)
    assert torch.jit.script(documented) is compiled and torch.jit.script(compiled) is compiled
    assert compiled.__doc__ == "Gives x." and compiled.__name__ == compiled.name == "documented"
    assert isinstance(compiled, torch.jit.ScriptFunction)
    assert compiled.code == "def documented(x: Tensor) -> Tensor:\n  return x\n"
    assert "graph(%x : Tensor)" in str(compiled.graph)


def test_none_first_needs_no_annotation():
    @torch.jit.script
    def run(xs):
        hidden = None
        for i in range(xs.size(0)):
            if hidden is None:
                hidden = xs[i]
            else:
                hidden = hidden * 0.5 + xs[i]
        return hidden

    x = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(run(x), (x[0] * 0.5 + x[1]) * 0.5 + x[2])


def test_an_empty_list_takes_the_type_of_what_is_put_in():
    @torch.jit.script
    def squares(n: int):
        found = []
        for i in range(n):
            found.append(i * i)
        return found

    assert squares(4) == [0, 1, 4, 9]


def test_fork_and_wait_give_the_result():
    def double(x):
        return x * 2

    @torch.jit.script
    def run(x):
        future = torch.jit.fork(double, x)
        y = double(x + 1)
        return torch.jit.wait(future) + y

    assert torch.equal(run(torch.ones(2)), torch.full((2,), 6.0))


def test_a_marked_function_is_called_in_python():
    seen = []

    @torch.jit.ignore
    def look(x: torch.Tensor, n: int) -> int:
        seen.append(x.shape)
        return n + 1

    @torch.jit.script
    def run(x, n: int):
        return look(x, n) * 2

    assert run(torch.ones(3), 4) == 10 and seen == [(3,)]


def test_a_unit_of_a_text_has_its_functions():
    unit = torch.jit.CompilationUnit(
        """
        def relu_sum(x):
            y = torch.relu(x)
            return y.sum()

        def twice(x, n: int) -> Tensor:
            for i in range(n):
                x = x + relu_sum(x)
            return x
        """
    )
    assert unit.relu_sum(torch.tensor([-1.0, 2.0])).item() == 2.0
    assert unit.twice(torch.tensor([1.0]), 3).item() == 8.0
    with pytest.raises(AttributeError, match="relu_sum"):
        unit.relu_summ


def test_pytorch_jit_0_leaves_everything_to_python(monkeypatch):
    def plain(x):
        return x

    monkeypatch.setenv("PYTORCH_JIT", "0")
    assert torch.jit.script(plain) is plain
