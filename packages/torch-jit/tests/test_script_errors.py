"""What the compiler refuses, it refuses with the place, the reason and the way out."""

import io
import math

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


def test_errors_have_the_words_that_programs_match():
    def takes(x: torch.Tensor, y):
        return x

    ignored = torch.jit.ignore(takes)
    cases = [
        (lambda x: x.max(dim=0).unknown, "'Tuple' object has no attribute or method 'unknown'"),
        (lambda x: x.unsqueeze, "builtin cannot be used as a value: the method 'unsqueeze' is not called"),
        (lambda x: x.unsqueeze.name, "attribute lookup is not defined on builtin"),
        (lambda x: io.abcd, "Python module 'io' object has no attribute abcd"),
        (lambda x: io.BytesIO, "python value of type 'type' cannot be used as a value"),
        (lambda x: math.hypot(x, 2.0), "Python builtin <built-in function hypot> is currently not supported"),
        (lambda x: (x, 1)[0.5], "index must be an integer"),  # noqa: RUF016
        (
            lambda x: ignored((x, x), x),
            r"Expected a value of type 'Tensor' for argument 'x' but instead found type 'Tuple\[",
        ),
        (lambda x: torch.jit._unwrap_optional(None), "could not be inferred from actual type None"),
    ]
    for fn, message in cases:
        with pytest.raises(RuntimeError, match=message):
            torch.jit.script(fn)


def test_what_nothing_says_the_type_of_is_named():
    with pytest.raises(
        RuntimeError, match=r"Inferred the value for argument 'dim' to be of type 'Tensor' because it was"
    ):

        @torch.jit.script
        def total(x, dim):
            return x.sum(dim)


def test_an_unknown_type_within_another_is_named():
    with pytest.raises(RuntimeError, match=r"Unknown type name 'Foo' in 'Tuple\[Foo, Tensor\]'"):
        torch.jit.CompilationUnit("def f(x: Tuple[Foo, Tensor]):\n    return x")


def test_an_argument_by_name_only_is_missed_by_its_name():
    with pytest.raises(RuntimeError, match=r"g\(\): Argument y not provided"):
        torch.jit.CompilationUnit("def g(x, *, y):\n    return x\ndef f(x):\n    return g(x, x)")


def test_a_result_of_python_must_be_of_its_type():
    @torch.jit.ignore
    def pair() -> torch.Tensor:
        return (1, 2)

    @torch.jit.ignore
    def number() -> float:
        return torch.tensor(2)

    @torch.jit.script
    def taken():
        return pair()

    @torch.jit.script
    def doubled() -> float:
        return number() * 2

    with pytest.raises(RuntimeError, match="to be of type Tensor, but instead got value of type tuple"):
        taken()
    assert doubled() == 4.0


def test_annotations_of_tensors_of_one_dtype_are_tensors_with_a_warning():
    def same(x: torch.LongTensor):
        return x

    with pytest.warns(UserWarning, match="TorchScript will treat type annotations of Tensor dtype-specific subtypes"):
        compiled = torch.jit.script(same)
    assert compiled(torch.ones(1)).item() == 1


class Unfit(ValueError):
    pass


def test_an_exception_of_ones_own_is_named_with_its_module():
    def check(x: Tensor):
        raise Unfit("no fit")

    compiled, file = torch.jit.script(check), io.BytesIO()
    torch.jit.save(compiled, file)
    for each in (compiled, torch.jit.load(io.BytesIO(file.getvalue()))):
        with pytest.raises(torch.jit.Error, match=f"{__name__}.Unfit: no fit"):
            each(torch.ones(1))


def test_tolist_without_an_annotation_says_what_is_missing():
    refused(lists_of_what, "Expected type hint for result of tolist()", "y: List[float] = x.tolist()")


def lists_of_what(x: Tensor):
    return x.tolist()


def test_constructors_of_old_tensors_take_lists_or_sizes():
    def both(n: int):
        return torch.FloatTensor(n, [2])

    def named():
        return torch.LongTensor(hello="1")

    refused(both, "FloatTensor", "a list of numbers is expected", "torch.empty")
    refused(named, "LongTensor(hello=)")
