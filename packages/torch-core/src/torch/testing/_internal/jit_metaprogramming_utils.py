"""Tests of scripts that are made from tables: texts of functions and methods, names of tests, inputs of sizes."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.testing._internal.common_nn import get_new_module_tests, module_tests

S, M, L = 5, 10, 20

#: modules that no script of one statement calls
EXCLUDE_SCRIPT_MODULES: set[str] = {"test_nn_AdaptiveAvgPool2d_tuple_none", "test_nn_Linear_no_batch_dim"}
EXCLUDE_SCRIPT: set[str] = set()
additional_module_tests: list[dict[str, Any]] = []

script_template = "\ndef the_method({}):\n    return {}\n"
script_method_template = "\ndef forward({}):\n    return {}\n"


def unpack_variables(args: Any) -> Any:
    """Nested tuples of tensors, in tuples of their own."""
    return tuple(map(unpack_variables, args)) if isinstance(args, tuple) else args


def create_input(
    call_args: Any, requires_grad: bool = True, non_contiguous: bool = False, call_kwargs: Any = None, dtype: Any = None,
    device: Any = None,
) -> tuple[tuple[Any, ...], dict[str, Any]]:  # fmt: skip
    """Arguments for a test: a tuple is the size of a tensor of normal noise, what is a tensor is copied, others stay.

    >>> from torch.testing._internal.jit_metaprogramming_utils import create_input
    >>> (x, k), named = create_input(((2, 3), 4))
    >>> x.shape, x.requires_grad, k, named
    (torch.Size([2, 3]), True, 4, {})
    """

    def made(arg):
        if isinstance(arg, tuple) and all(type(each) is int for each in arg):
            arg = torch.randn(arg, dtype=dtype or torch.float64, device=device)
        elif isinstance(arg, (list, tuple)):
            return type(arg)(map(made, arg))
        elif not isinstance(arg, torch.Tensor):
            return arg() if callable(arg) else copy.deepcopy(arg)
        arg = arg.detach().clone()
        if non_contiguous and arg.numel() > 1 and arg.dim() > 1:
            arg = arg.transpose(0, -1).contiguous().transpose(0, -1)
        return arg.requires_grad_(requires_grad and (arg.is_floating_point() or arg.is_complex()))

    call_args = call_args if isinstance(call_args, tuple) else (call_args,)
    return tuple(map(made, call_args)), {name: made(each) for name, each in (call_kwargs or {}).items()}


def value_to_literal(value: Any) -> str:
    """A value as a script writes it."""
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f"float('{value}')"
    return repr(value)


def get_script_args(args: Any) -> tuple[list[str], list[Any], list[str]]:
    """Parameters of a script, the values that they take, and what the script passes on: tensors and lists of them become
    names, other values are written out.

    >>> from torch.testing._internal.jit_metaprogramming_utils import get_script_args
    >>> formals, tensors, actuals = get_script_args((torch.ones(1), 3))
    >>> formals, actuals
    (['i0'], ['i0', '3'])
    """
    formals: list[str] = []
    tensors: list[Any] = []
    actuals: list[str] = []
    for arg in args:
        if isinstance(arg, torch.Tensor):
            formals.append(f"i{len(formals)}")
            actuals.append(formals[-1])
            tensors.append(arg)
        elif isinstance(arg, (list, tuple)) and arg and all(isinstance(each, torch.Tensor) for each in arg):
            actuals.append(f"i{len(formals)}")
            formals.append(f"{actuals[-1]}: List[torch.Tensor]")
            tensors.append(list(arg))
        else:
            actuals.append(value_to_literal(arg))
    return formals, tensors, actuals


def get_call(method_name: str, func_type: str, args: list[str], kwargs: dict[str, Any]) -> str:
    """The call of a function (``"functional"``), a method of the first argument, or ``torch.nn.functional``'s, as text."""
    named = [f"{name}={value_to_literal(value)}" for name, value in kwargs.items()]
    if func_type == "method":
        return f"{args[0]}.{method_name}({', '.join([*args[1:], *named])})"
    owner = {"functional": "torch", "nn_functional": "torch.nn.functional"}.get(func_type)
    if owner is None:
        raise ValueError(f"get_call: expected functional, method or nn_functional, got {func_type!r}")
    return f"{owner}.{method_name}({', '.join([*args, *named])})"


def gen_script_fn_and_args(method_name: str, func_type: str, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
    """A compiled function of one call, and the tensors that it takes."""
    formals, tensors, actuals = get_script_args(args)
    text = script_template.format(", ".join(formals), get_call(method_name, func_type, actuals, kwargs))
    return torch.jit.CompilationUnit(text).the_method, tensors


def create_script_fn(self: Any, method_name: str, func_type: str) -> Any:
    """A function that compiles a call for its arguments, runs it, and keeps the program in ``last_graph``."""

    def script_fn(*args: Any, **kwargs: Any) -> Any:
        fn, tensors = gen_script_fn_and_args(method_name, func_type, *args, **kwargs)
        script_fn.last_graph = fn.graph_for(*tensors)  # type: ignore[attr-defined]
        return fn(*tensors)

    return script_fn


def create_traced_fn(self: Any, fn: Any, cache_traced_fn: bool = False) -> Any:
    """A function that traces another for its arguments, runs the trace, and keeps the program in ``last_graph``."""

    def traced_fn(*inputs: Any, **kwargs: Any) -> Any:
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]

        def call(*given):
            rest = iter(given)
            return fn(*(next(rest) if isinstance(each, torch.Tensor) else each for each in inputs), **kwargs)

        if not cache_traced_fn or not hasattr(traced_fn, "traced"):
            traced_fn.traced = torch.jit.trace(call, tuple(tensors), check_trace=False)  # type: ignore[attr-defined]
        traced_fn.last_graph = traced_fn.traced.graph_for(*tensors)  # type: ignore[attr-defined]
        return traced_fn.traced(*tensors)  # type: ignore[attr-defined]

    return traced_fn


def get_nn_module_name_from_kwargs(**kwargs: Any) -> str | None:
    """The name of the module that a row of a table is about."""
    for key in ("module_name", "fullname"):
        if key in kwargs:
            return kwargs[key]
    return kwargs["constructor"].__name__ if "constructor" in kwargs else None


def get_nn_mod_test_name(**kwargs: Any) -> str:
    """The name of the test of a row: ``test_nn_Linear_no_bias``."""
    name = kwargs.get("fullname") or get_nn_module_name_from_kwargs(**kwargs)
    return f"test_nn_{name}" + (f"_{kwargs['desc']}" if "desc" in kwargs and "fullname" not in kwargs else "")


def get_nn_module_class_from_kwargs(**kwargs: Any) -> Any:
    """The class that a row of a table is about."""
    name = get_nn_module_name_from_kwargs(**kwargs)
    return name and getattr(torch.nn, name)


def get_all_nn_module_tests() -> list[dict[str, Any]]:
    """All rows."""
    return [*module_tests, *get_new_module_tests(), *additional_module_tests]
