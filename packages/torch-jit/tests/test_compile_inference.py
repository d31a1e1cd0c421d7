"""``torch.compile`` with tensors that ``torch.inference_mode`` makes, of which no writes are counted."""

import pytest
import torch
from compiling import programs_run  # noqa: F401
from torch._dynamo import exc


def made(*values):
    with torch.inference_mode():
        return torch.tensor(values)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Written(Doubled):
    @staticmethod
    def forward(ctx, x):
        return x.add_(1) * 2


def written(x):
    x.add_(1)
    return x * 2


CASES = {
    "read": lambda x: x + 1,
    "data": lambda x: x.data * 2 + x.detach(),
    "written": written,
    "a function": lambda x: Doubled.apply(x) + x,
}


#: an inference tensor is not written to outside of the mode
MODES = [
    (name, mode)
    for name in CASES
    for mode in (torch.inference_mode, torch.no_grad)
    if (name, mode) != ("written", torch.no_grad)
]


@pytest.mark.parametrize(("name", "mode"), MODES)
def test_inference_tensors_are_arguments_like_others(name, mode):
    function, results = CASES[name], []
    for called in (function, torch.compile(function, fullgraph=True)):
        x, y = made(1.0, 2.0), torch.tensor([3.0, 4.0])
        with mode():
            out = [called(each) for each in (x, y, x)]
        results.append([(o.tolist(), o.is_inference()) for o in out] + [x.tolist(), y.tolist(), y._version])
    assert results[0] == results[1]


def test_a_cache_that_grows_in_inference_mode():
    class Cache:
        def __init__(self):
            self.kept = []

        def update(self, x):
            self.kept[:] = [torch.cat([*self.kept, x])]
            return self.kept[0]

    def step(x, cache):
        return cache.update(x * 2).sum()

    found = []
    for called in (step, torch.compile(step)):
        cache = Cache()
        with torch.inference_mode():
            found.append([called(torch.ones(2), cache).item() for _ in range(4)])
    assert found[0] == found[1] == [4.0, 8.0, 12.0, 16.0]


def test_a_function_that_writes_to_an_inference_tensor_is_no_part_of_a_program():
    with torch.inference_mode(), pytest.raises(exc.Unsupported, match=r"Written.apply\(\) writes to its arguments"):
        torch.compile(lambda x: Written.apply(x), fullgraph=True)(made(1.0))


def test_a_frozen_program_sees_writes_to_weights_made_in_inference_mode():
    with torch.inference_mode():
        layer, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
        compiled = torch.compile(layer, options={"freezing": True})
        compiled(x)
        layer.weight.add_(1)
        assert torch.equal(compiled(x), layer(x))


def test_the_program_of_a_tensor_whose_data_is_written_to_takes_an_inference_tensor():
    def through_data(x):
        x.data.add_(1)
        return x * 2

    compiled = torch.compile(through_data, fullgraph=True)
    with torch.inference_mode():
        first, second = torch.ones(2), made(1.0, 2.0)
        with torch.inference_mode(False):
            plain = torch.ones(2)
        assert compiled(plain).tolist() == [4.0, 4.0] and plain._version == 0
        assert compiled(second).tolist() == [4.0, 6.0] and second.tolist() == [2.0, 3.0]
        assert compiled(first).tolist() == [4.0, 4.0]
