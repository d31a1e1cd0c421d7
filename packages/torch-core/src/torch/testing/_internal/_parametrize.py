"""One test for each of many values: ``parametrize``, and what makes the tests of it."""

from __future__ import annotations

import functools

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    # a test, the end of its name, its arguments, the decorators for these arguments
    Made = tuple[Callable[..., Any], str, dict[str, Any], Callable[[dict[str, Any]], list[Any]]]


def dtype_name(dtype: torch.dtype) -> str:
    """``float32`` of ``torch.float32``."""
    return str(dtype).split(".")[1]


class subtest:
    """One value of ``parametrize``, or a tuple of them, with a name and decorators of its own."""

    __slots__ = ["arg_values", "decorators", "name"]

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Iterable[Any] | None = None) -> None:
        self.arg_values = arg_values
        self.name = name
        self.decorators = list(decorators or [])


class _TestParametrizer:
    """A decorator that says which tests a test stands for; several of them multiply."""

    def _parametrize_test(self, test: Any, generic_cls: type, device_cls: type | None) -> Iterator[Made]:
        raise NotImplementedError(f"{type(self).__name__} has no _parametrize_test")

    def __call__(self, fn: Any) -> Any:
        before = getattr(fn, "parametrize_fn", None)
        fn.parametrize_fn = (
            compose_parametrize_fns(before, self._parametrize_test) if before else self._parametrize_test
        )
        return fn


def compose_parametrize_fns(old_parametrize_fn: Any, new_parametrize_fn: Any) -> Any:
    """The product of two: names read from the upper decorator to the lower one."""

    def composed(test: Any, generic_cls: type, device_cls: type | None) -> Iterator[Made]:
        for lower, lower_name, lower_values, lower_marks in list(old_parametrize_fn(test, generic_cls, device_cls)):
            for made, name, values, marks in new_parametrize_fn(lower, generic_cls, device_cls):
                twice = sorted(lower_values.keys() & values.keys())
                if twice:
                    raise RuntimeError(f"{test.__name__}: two decorators parametrize {', '.join(twice)}")
                both = functools.partial(lambda values, a, b: [*a(values), *b(values)], a=lower_marks, b=marks)
                yield made, "_".join(filter(None, (name, lower_name))), {**lower_values, **values}, both

    return composed


class parametrize(_TestParametrizer):
    """The test once for each value: ``@parametrize("x", [1, 2])``, ``@parametrize("x, y", [(1, 2), (3, 4)])``.

    Tests are named after the values, by ``name_fn(*values)``, or by a ``subtest``. ``instantiate_parametrized_tests``
    on the class, or ``instantiate_device_type_tests``, makes them.

    >>> from torch.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize
    >>> @instantiate_parametrized_tests
    ... class TestSquares(TestCase):
    ...     @parametrize("x", [2, 3])
    ...     def test_square(self, x):
    ...         self.assertEqual(x**2, x * x)
    >>> [name for name in dir(TestSquares) if "square" in name]
    ['test_square_x_2', 'test_square_x_3']
    """

    def __init__(self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None) -> None:
        self.arg_names = [name.strip() for name in arg_str.split(",") if name]
        self.arg_values = arg_values
        self.name_fn = name_fn

    def _name(self, i: int, values: list[Any]) -> str:
        if self.name_fn:
            return self.name_fn(*values)
        return "_".join(_worded(i, name, value) for name, value in zip(self.arg_names, values, strict=True))

    def _parametrize_test(self, test: Any, generic_cls: type, device_cls: type | None) -> Iterator[Made]:
        if not self.arg_names:
            yield test, "", {}, lambda _: []
            return
        count = 0
        for i, given in enumerate(self.arg_values):
            count += 1
            sub = given if isinstance(given, subtest) else subtest(given)
            values = list(sub.arg_values) if len(self.arg_names) > 1 else [sub.arg_values]
            if len(values) != len(self.arg_names):
                raise RuntimeError(
                    f"{test.__name__}: expected {len(self.arg_names)} values for {', '.join(self.arg_names)}, got {len(values)}"
                )
            name = sub.name or self._name(i, values)
            made = _copied(test) if sub.decorators else test
            yield (
                made,
                name,
                dict(zip(self.arg_names, values, strict=True)),
                functools.partial(_same, marks=sub.decorators),
            )
        if not count:
            raise ValueError(f"{test.__name__}: parametrize got no values; a generator may have been used up before")


def _same(_: Any, marks: list[Any]) -> list[Any]:
    return marks


def _copied(test: Any) -> Any:
    """A function of its own, so that what a decorator sets on it stays off the other tests."""

    @functools.wraps(test)
    def alone(*args, **kwargs):
        return test(*args, **kwargs)

    return alone


def _worded(i: int, name: str, value: Any) -> str:
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (int, float, str)):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{i}"


class decorateIf(_TestParametrizer):
    """Decorates the tests whose arguments, a dict, satisfy the predicate."""

    def __init__(self, decorator: Any, predicate_fn: Callable[[dict[str, Any]], bool]) -> None:
        self.decorator = decorator
        self.predicate_fn = predicate_fn

    def _parametrize_test(self, test: Any, generic_cls: type, device_cls: type | None) -> Iterator[Made]:
        yield _copied(test), "", {}, lambda values: [self.decorator] if self.predicate_fn(values) else []


def put(cls: type, name: str, test: Any, values: dict[str, Any], marks: Iterable[Any]) -> None:
    """One made test as a method of the class."""
    if hasattr(cls, name):
        raise AssertionError(f"{cls.__name__}: two tests are called {name}")
    for mark in marks:
        test = mark(test)

    @functools.wraps(test)
    def method(self):
        return self._run_made(test, values) if hasattr(self, "_run_made") else test(self, **values)

    for passing in ("parametrize_fn", "__wrapped__"):  # pytest would read fixtures off the wrapped one
        method.__dict__.pop(passing, None)
    setattr(cls, name, method)


def instantiate_parametrized_tests(generic_cls: Any) -> Any:
    """Puts the tests that ``parametrize`` stands for in place of the decorated ones; also a class decorator."""
    for attribute in dir(generic_cls):
        test = getattr(generic_cls, attribute)
        if not hasattr(test, "parametrize_fn"):
            continue
        delattr(generic_cls, attribute)
        for made, name, values, marks in test.parametrize_fn(test, generic_cls, None):
            put(generic_cls, f"{test.__name__}_{name}" if name else test.__name__, made, values, marks(values))
    return generic_cls
