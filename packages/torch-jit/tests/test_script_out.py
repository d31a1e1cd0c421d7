"""Scripts whose operators write into a tensor that is there."""

import torch


def test_out_of_an_operator_is_written_and_given():
    @torch.jit.script
    def step(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor):
        y = torch.addcmul(x, a, b, out=x)
        torch.mul(a, 2.0, out=b)
        return y + 1

    x, a, b = torch.ones(3), torch.full((3,), 2.0), torch.full((3,), 3.0)
    assert step(x, a, b).tolist() == [8.0] * 3
    assert x.tolist() == [7.0] * 3 and b.tolist() == [4.0] * 3


def test_out_takes_the_size_of_the_result():
    @torch.jit.script
    def total(x: torch.Tensor, into: torch.Tensor):
        torch.sum(x, dim=0, out=into)
        return into

    into = torch.empty(0)
    assert total(torch.ones(2, 3), into).tolist() == [2.0] * 3 and into.shape == (3,)


def test_functions_of_a_list_take_tensors_one_by_one():
    @torch.jit.script
    def both(x: torch.Tensor, y: torch.Tensor):
        a, b = torch.broadcast_tensors(x, y)
        return a + b

    assert both(torch.ones(2, 1), torch.ones(3)).tolist() == [[2.0] * 3] * 2


def test_a_class_is_compiled_and_stays_a_class():
    @torch.jit.script
    class Pair:
        def __init__(self, a: int, b: int):
            self.a = a
            self.b = b

        def total(self) -> int:
            return self.a + self.b

    assert Pair(2, 3).total() == 5
