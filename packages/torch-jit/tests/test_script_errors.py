"""What the compiler refuses, it refuses with the place, the reason and the way out."""

import pytest
import torch
from torch import Tensor, nn


def refused(fn, *words):
    with pytest.raises(RuntimeError) as caught:
        torch.jit.script(fn)
    text = str(caught.value)
    for word in words:
        assert word in text, text
    return text


def test_an_error_shows_file_line_and_caret():
    def wrong(x):
        y = x + 1
        return y.foo(2)

    text = refused(wrong, "'Tensor' object has no attribute or method 'foo'", __file__, "in wrong")
    *_, source, caret = text.splitlines()
    assert source == "    return y.foo(2)" and caret == "           ~~~~~ <--- HERE"


def test_a_misspelt_method_is_guessed():
    def wrong(x):
        return x.unsqueze(0)

    refused(wrong, "did you mean 'unsqueeze'")


def test_an_unknown_name_is_guessed():
    def wrong(total):
        return totl + 1  # noqa: F821

    refused(wrong, "undefined value totl", "did you mean 'total'")


def test_an_error_in_a_called_function_tells_both_places():
    def inner(x, n: int):
        return x.foo(n)

    def outer(x):
        return inner(x, 2)

    text = refused(outer, "in inner", "called from", "in outer")
    assert text.index("in inner") < text.index("in outer")


def test_an_operator_that_does_not_fit_lists_its_forms():
    def wrong(x, names: list[str]):
        return torch.relu(names)

    refused(wrong, "relu", "List[str]", "aten::relu(Tensor")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("yield x", "yield"),
        ("try:\n        x = x + 1\n    except ValueError:\n        pass", "try"),
        ("import math", "import"),
        ("global y", "global"),
        ("f = lambda y: y", "lambda expressions"),
        ("def f(y):\n        return y", "closures"),
        ("s = {1, 2}", "sets"),
        ("x[1:2] = y = x", ""),
    ],
)
def test_python_that_the_language_lacks_is_named(body, word):
    text = f"def wrong(x):\n    {body}\n    return x"
    if not word:
        torch.jit.CompilationUnit(text)
        return
    with pytest.raises(RuntimeError, match=word) as caught:
        torch.jit.CompilationUnit(text)
    assert "script language" in str(caught.value)
    assert isinstance(caught.value, torch.jit.frontend.NotSupportedError)


def test_a_value_that_may_be_none_is_not_used():
    def wrong(x, mask: Tensor | None):
        return x + mask

    refused(wrong, "Optional[Tensor] and may be None", "is not None")


def test_a_name_assigned_in_one_branch_is_not_used_after_it():
    def wrong(x, n: int):
        if n > 0:
            y = x
        return y

    refused(wrong, "y is not defined in the false branch")


def test_a_name_of_two_types_is_not_used_after_the_branches():
    def wrong(x, n: int):
        if n > 0:
            y = x
        else:
            y = "text"
        return y

    refused(wrong, "y is set to type Tensor in the true branch", "str in the false branch")


def test_a_loop_keeps_the_type_of_its_names():
    def wrong(x, n: int):
        y = 1
        for _ in range(n):
            y = "a"
        return y

    refused(wrong, "Variable 'y' previously had type int but is now being assigned to a value of type str")


def test_returns_are_of_one_type():
    def wrong(x, n: int):
        if n > 0:
            return x
        return "no"

    refused(wrong, "returns", "Tensor", "str")


def test_a_declared_result_is_checked():
    def wrong(x) -> int:
        return x

    refused(wrong, "annotated as having type int but is actually of type Tensor")


def test_a_list_of_several_types_is_one_of_a_union_and_says_so():
    def mixed(x):
        return [x, 1]

    with pytest.warns(torch.jit.ScriptWarning, match=r"heterogeneous types.*Union\[Tensor, int\]"):
        program = torch.jit.script(mixed)
    assert program(torch.ones(1)) == mixed(torch.ones(1))

    def keys():
        return {1: 2, "b": 3}

    refused(keys, "Dict keys must contain only a single type")


def test_a_tensor_outside_of_the_function_is_refused():
    outside = torch.ones(1)

    def wrong(x):
        return x + outside

    refused(wrong, "python value of type 'Tensor' cannot be used as a value", "outside of the function", "buffer")


def test_a_wrong_annotation_is_named():
    def wrong(x: "Tensr"):  # noqa: F821
        return x

    refused(wrong, "Unknown type name 'Tensr'")


def test_any_number_of_arguments_is_refused():
    def wrong(*xs):
        return xs[0]

    refused(wrong, "can't take variable number of arguments (*xs)", "take a list")


def test_a_module_without_the_attribute_guesses_it():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            return self.liner(x)

    refused(Wrong(), "Module 'Wrong' has no attribute 'liner'", "did you mean 'linear'")


def test_a_list_of_modules_is_refused_with_the_way_out():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    refused(Wrong(), "must be a torch.nn.ModuleList")


def test_an_attribute_is_made_in_init():
    class Wrong(nn.Module):
        def forward(self, x):
            self.seen = x
            return x

    refused(Wrong(), "Tried to set nonexistent attribute: seen", "__init__")


def test_a_module_class_is_no_module():
    refused(nn.Linear, "give an instance of it")


@pytest.mark.parametrize("value", [3, "a", None, torch.ones(1)])
def test_what_is_no_program_is_refused(value):
    with pytest.raises(TypeError, match="expected a function, class or module"):
        torch.jit.script(value)


def test_wrong_arguments_of_a_call_are_refused():
    @torch.jit.script
    def add(x, n: int):
        return x + n

    with pytest.raises((TypeError, RuntimeError), match="n"):
        add(torch.ones(1), "a")
    with pytest.raises((TypeError, RuntimeError), match="n"):
        add(torch.ones(1))


@pytest.mark.parametrize(
    ("args", "kwargs"), [(("a",), {}), ((), {}), ((1, 2), {}), ((), {"m": 3})], ids=["kind", "none", "many", "name"]
)
def test_wrong_arguments_are_type_errors_and_errors_of_programs(args, kwargs):
    @torch.jit.script
    def f(n: int):
        return n

    for kind in (TypeError, RuntimeError, torch.jit.Error):
        with pytest.raises(kind, match=r"f\(\)"):
            f(*args, **kwargs)


def test_what_a_program_raises_is_of_pythons_class_and_an_error_of_programs():
    @torch.jit.script
    def f(n: int, items: list[int]) -> int:
        assert n != 1, "one"
        if n == 2:
            raise ValueError("two")
        return items[n] // (n - 3)

    for n, kind in ((1, AssertionError), (2, ValueError), (3, ZeroDivisionError), (9, IndexError)):
        for caught in (kind, torch.jit.Error):
            with pytest.raises(caught):
                f(n, [0, 0, 0, 0])


def test_attributes_that_lists_and_tensors_lack_are_named():
    def of_list(x: list[int]):
        if x.foo:
            return 1
        return 2

    def of_tensor(x):
        return x.fooo

    refused(of_list, "'List[int]' object has no attribute or method 'foo'")
    refused(of_tensor, "'Tensor' object has no attribute or method 'fooo'")


def test_a_type_comment_says_every_argument():
    def f(x, y):
        # type: (Tensor) -> Tensor
        return x

    refused(f, "Number of type annotations (1) did not match the number of function parameters (2)")
