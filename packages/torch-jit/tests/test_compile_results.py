"""Random functions that ask for sizes of results and give them back: a compiled one gives what Python gives, at every size."""

import random

import pytest
import torch
from torch.nn import functional as F

TABLE = torch.arange(17.0)
LINES = (
    lambda r: f"y = torch.cat([y, y[:{r.randint(1, 5)}]])",
    lambda r: f"y = y[{r.randint(0, 3)}:]",
    lambda r: f"y = y[:{r.randint(3, 30)}]",
    lambda r: f"y = y[::{r.randint(2, 3)}]",
    lambda r: f"y = torch.nn.functional.pad(y, ({r.randint(0, 2)}, {r.randint(0, 3)}))",
    lambda r: "y = y.repeat(2)",
    lambda r: "y = TABLE[:y.shape[0]] + 1",
    lambda r: f"y = torch.nn.functional.avg_pool1d(y[None], {r.randint(1, 3)}, ceil_mode={r.choice([True, False])})[0]",
    lambda r: "y = torch.outer(y, x[0]).flatten()",
    lambda r: "y = y.clone(); y[1:] = 0",
    lambda r: "y = y.view(-1, 2).sum(1) if y.shape[0] % 2 == 0 else y * 3",
    lambda r: f"y = y + 1 if y.shape[0] {r.choice(['<', '>=', '==', '!=', '>'])} {r.randint(1, 40)} else y - 1",
    lambda r: "y = y * len(y)",
    lambda r: f"y = y * (2 if y.shape[0] > x.shape[0] * {r.randint(1, 3)} else 5)",
)


@pytest.mark.parametrize("seed", range(80))
def test_random_functions_of_sizes_of_results_give_what_python_gives(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(torch._dynamo.config, "choose_faster", False)
    torch.compiler.reset()
    r, path = random.Random(seed), tmp_path / "results.py"
    lines = ["y = x.flatten()", *(r.choice(LINES)(r) for _ in range(r.randint(2, 5)))]
    body = "".join(f"    {line}\n" for line in [*lines, "return y, y.shape[0], x.shape[0] + y.numel()"])
    path.write_text(f"def f(x):\n{body}")
    space = {"torch": torch, "TABLE": TABLE}
    exec(compile(path.read_text(), str(path), "exec"), space)
    compiled = torch.compile(space["f"])
    for _ in range(9):
        x = torch.randn(r.randint(2, 14), r.choice([3, 3, 3, 4]))
        try:
            expected = space["f"](x)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(x)
            continue
        got = compiled(x)
        assert got[1:] == expected[1:], body
        assert torch.equal(got[0], expected[0]), body


CHECKED = {
    "classes within bounds": (lambda x: F.one_hot(x, 4), torch.tensor([1, 2]), torch.tensor([1, 7]), "smaller than num_classes"),
    "classes not negative": (lambda x: F.one_hot(x, 4), torch.tensor([1, 2]), torch.tensor([-1, 2]), "non-negative"),
    "chances": (lambda x: F.binary_cross_entropy(x, x), torch.tensor([0.5]), torch.tensor([1.5]), "between 0 and 1"),
    "variances": (lambda x: F.gaussian_nll_loss(x, x, x), torch.tensor([0.5]), torch.tensor([-0.5]), "negative"),
}  # fmt: skip


@pytest.mark.parametrize(
    "options", [{}, {"fullgraph": True}, {"backend": lambda g, i: g.forward}], ids=["plain", "whole", "own"]
)
@pytest.mark.parametrize("name", CHECKED)
def test_values_that_torch_refuses_are_refused_by_a_program(name, options):
    function, good, bad, words = CHECKED[name]
    with pytest.raises((RuntimeError, ValueError), match=words) as wanted:
        function(bad)
    compiled = torch.compile(function, **options)
    for _ in range(2):
        assert torch.equal(compiled(good), function(good))
    with pytest.raises(type(wanted.value), match=words):
        compiled(bad)
    assert torch.equal(compiled(good), function(good)) and len(compiled._compiled.programs) == 1


def test_a_check_behind_a_write_to_an_argument_does_not_write_twice():
    def f(x, classes):
        x.add_(1)
        return F.one_hot(classes, 4) + x

    compiled, x = torch.compile(f, fullgraph=True), torch.zeros(2, 4)
    compiled(x, torch.tensor([1, 2]))
    with pytest.raises(RuntimeError):
        compiled(x, torch.tensor([1, 7]))
    assert x.tolist() == [[2] * 4] * 2
