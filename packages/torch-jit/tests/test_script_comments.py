"""Types in comments, as programs of Python 2 wrote them."""

import io
from typing import List  # noqa: UP035 (comments name it)

import pytest
import torch


def test_a_comment_without_an_arrow_speaks_of_the_parameters_only():
    @torch.jit.script
    def add(x, n):
        # type: (Tensor, int)
        return x + n, n

    assert str(add.schema) == "add(Tensor x, int n) -> ((Tensor, int))"
    assert add(torch.ones(1), 2) == (torch.tensor([3.0]), 2)


def test_texts_that_differ_only_in_their_comments_are_different_programs():
    text = "def f(v):\n    # type: ({0}) -> int\n    return int(v)"
    of_int, of_float = (torch.jit.CompilationUnit(text.format(kind)).f for kind in ("int", "float"))
    assert of_int(2) == 2
    assert of_float(2.5) == 2


def test_a_prefix_that_only_looks_like_a_comment_of_types_is_refused():
    with pytest.raises(
        RuntimeError, match=r"annotation prefix in line '#type: \(Tensor\) -> Tensor' is probably invalid"
    ):
        torch.jit.CompilationUnit("def double(x):\n    #type: (Tensor) -> Tensor\n    return 2 * x")


def test_a_comment_of_more_types_than_parameters_is_refused():
    with pytest.raises(RuntimeError, match=r"Number of type annotations \(2\) did not match .* parameters \(1\): x"):

        @torch.jit.script
        def double(x):
            # type: (Tensor, int) -> Tensor
            return 2 * x


def test_a_signature_says_that_its_comment_calls_something():
    with pytest.raises(RuntimeError, match="Type annotation should not contain calls"):
        torch.jit.annotations.parse_type_line("# type: print(1) -> Tensor")


def test_defaults_that_calls_would_share_are_refused():
    with pytest.raises(RuntimeError, match=r"Mutable default parameters are not supported .*: items=\[\]"):

        @torch.jit.script
        def grown(x, items: List[int] = []):  # noqa: B006, UP006
            return x, items


def test_a_state_without_a_type_is_of_that_which_getstate_gives():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.counts = torch.zeros(2)
            self.number = 1

        def forward(self, x):
            return x + self.counts

        @torch.jit.export
        def __getstate__(self):
            return self.counts, self.number, self.training

        @torch.jit.export
        def __setstate__(self, state):
            self.counts, self.number, self.training = state[0] + 1, state[1], state[2]

    file = io.BytesIO()
    torch.jit.script(Counter()).save(file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    assert loaded(torch.zeros(2)).tolist() == [1, 1]


def test_setstate_without_getstate_is_refused():
    class Half(torch.nn.Module):
        def forward(self, x):
            return x

        @torch.jit.export
        def __setstate__(self, state):
            self.training = state[0]

    with pytest.raises(RuntimeError, match="__setstate__ has no __getstate__ beside it"):
        torch.jit.script(Half())


def test_a_comment_names_a_class_that_only_the_caller_sees():
    @torch.jit.script
    class Pair:
        def __init__(self, a: int, b: int):
            self.a, self.b = a, b

    @torch.jit.script
    class Other:
        def __init__(self, a: int):
            self.a = a

        def is_in(self, pair):
            # type: (Pair) -> bool
            return self.a == pair.a or self.a == pair.b

    @torch.jit.script
    def found(a: int) -> bool:
        return Other(a).is_in(Pair(1, 2))

    assert [found(a) for a in (1, 2, 3)] == [True, True, False]


def test_a_list_that_one_number_may_stand_for_is_a_list():
    @torch.jit.script
    def sized(x, size):
        # type: (Tensor, BroadcastingList2[int]) -> List[int]
        return size

    assert sized(torch.ones(1), [3, 4]) == [3, 4]


def test_dropping_by_the_spelling_of_2019_warns():
    with pytest.warns(FutureWarning, match="TorchScript will now drop the function"):
        torch.jit.ignore(drop_on_export=True)(lambda x: x)
