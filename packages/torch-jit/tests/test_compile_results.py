"""Random functions that ask for sizes of results and give them back: a compiled one gives what Python gives, at every size."""

import random

import pytest
import torch

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
