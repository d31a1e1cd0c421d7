"""Operators that programs register: schemas, functions by device, namespaces."""

import re

import numpy as np
import pytest
import torch
from torch import Tensor, _seams
from torch._schemas import Schema, infer_schema


def test_a_custom_operator_is_a_function_and_a_name():
    @torch.library.custom_op("shelf::scale", mutates_args=())
    def scale(x: Tensor, by: float = 2.0, *, name: str = "x") -> Tensor:
        """Times."""
        return x * by

    x = torch.ones(2)
    assert scale(x).tolist() == [2, 2] and scale(x, by=3.0).tolist() == [3, 3] and scale.__doc__ == "Times."
    assert torch.ops.shelf.scale(x, 4.0).tolist() == [4, 4] == torch.ops.shelf.scale.default(x, 4.0).tolist()
    assert torch.ops.shelf.scale.overloads() == ["default"] and "scale" in dir(torch.ops.shelf)
    assert str(torch.ops.shelf.scale.default) == "shelf.scale.default"
    assert torch.ops.shelf.scale.default.name() == "shelf::scale"
    assert str(torch.ops.shelf.scale.default._schema).startswith("shelf::scale(Tensor x, float by=2")
    for call, text in (
        (lambda: scale(), r"shelf::scale\(\) is missing value for argument 'x'"),
        (lambda: scale(x, 1.0, "x"), "takes 2 positional arguments, got 3"),
        (lambda: scale(x, x=x), "two values for argument 'x'"),
        (
            lambda: scale(x, wrong=1),
            "Unknown keyword argument 'wrong' for operator 'shelf::scale'. Schema: shelf::scale",
        ),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


def test_a_custom_operator_gives_no_argument_back():
    @torch.library.custom_op("shelf::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x[1:]

    with pytest.raises(RuntimeError, match="shelf::same: the output .* shares memory with one of its inputs"):
        same(torch.ones(2))


def test_tensors_of_meta_go_to_the_fake():
    @torch.library.custom_op("shelf::total", mutates_args=())
    def total(x: Tensor) -> Tensor:
        return x.sum()

    x = torch.ones(2, device="meta")
    torch.library.define("shelf::nowhere", "(Tensor x) -> Tensor")
    torch.library.impl("shelf::nowhere", "cpu", lambda x: x)
    for operator in (total, torch.ops.shelf.nowhere):
        with pytest.raises(NotImplementedError, match="no function is registered .* 'meta': add one by torch.library"):
            operator(x)
    total.register_fake(lambda x: x.new_empty(()))
    assert total(x).shape == () and total(x).is_meta


def test_functions_by_device_and_for_all():
    lib = torch.library.Library("kinds", "DEF")
    assert lib.define("which(Tensor x) -> str") == "which"
    with pytest.raises(NotImplementedError, match="Could not run 'kinds::which' .*'CPU' backend: .* none"):
        torch.ops.kinds.which(torch.ones(1))
    lib.impl("which", lambda x: "all", "CompositeExplicitAutograd")
    lib.impl("which", lambda x: "cpu", "CPU")
    assert torch.ops.kinds.which(torch.ones(1)) == "cpu"
    assert torch.ops.kinds.which(torch.ones(1, device="meta")) == "all"
    with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
        lib.impl("which", lambda x: "later", "CPU")  # libraries register one for CUDA and once more for ROCm
    assert torch.ops.kinds.which(torch.ones(1)) == "later"
    lib.impl("which", lambda x: "again", "CPU", allow_override=True)
    assert torch.ops.kinds.which(torch.ones(1)) == "again"
    assert torch.library.get_kernel("kinds::which", "CPU").call_boxed(None, torch.ones(1)) == "again"
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        lib.define("which(Tensor x) -> str")
    lib._destroy()
    with pytest.raises(AttributeError, match="'_OpNamespace' 'kinds' object has no attribute 'which'"):
        torch.ops.kinds.which


def test_kernels_of_a_device_can_be_switched_off():
    @torch.library.custom_op("shelf::where", mutates_args=(), device_types="cpu")
    def where(x: Tensor) -> str:
        return "cpu"

    where.register_kernel(None, lambda x: "all")
    x = torch.ones(1)
    assert where(x) == "cpu"
    with where.set_kernel_enabled("cpu", False):
        assert where(x) == "all"
    assert where(x) == "cpu"


def test_overloads_are_chosen_by_types():
    lib = torch.library.Library("choice", "DEF")
    for overload, kind in (("Tensor", "Tensor"), ("Scalar", "Scalar"), ("list", "int[]"), ("none", "str?")):
        lib.define(f"pick.{overload}(Tensor x, {kind} y) -> str")
        lib.impl(f"pick.{overload}", lambda x, y, name=overload: name, "CompositeImplicitAutograd")
    pick, x = torch.ops.choice.pick, torch.ones(1)
    assert [pick(x, y) for y in (x, 2.5, [1, 2], None)] == ["Tensor", "Scalar", "list", "none"]
    assert pick.Scalar(x, 3) == "Scalar" and pick.overloads() == ["Tensor", "Scalar", "list", "none"]
    with pytest.raises(RuntimeError, match="choice::pick: no overload takes these arguments:\nchoice::pick.Tensor"):
        pick(x, object())


def test_what_is_registered_may_come_before_the_operator():
    torch.library.register_fake("late::comer", lambda x: x.new_empty(5))
    torch.library.define("late::comer", "(Tensor x) -> Tensor")
    assert torch.ops.late.comer(torch.ones(1, device="meta")).shape == (5,)


def test_operators_of_torch_are_not_replaced():
    with pytest.raises(ValueError, match="aten is a reserved namespace"):
        torch.library.Library("aten", "DEF")
    with pytest.raises(NotImplementedError, match="aten::add.*not replaced by programs"):
        torch.library.Library("aten", "IMPL").impl("add", lambda a, b: a, "CPU")
    with pytest.raises(ValueError, match="Unsupported kind"):
        torch.library.Library("mine", "WRONG")
    with pytest.raises(ValueError, match="no such dispatch key: 'Nowhere'"):
        torch.library.Library("mine", "IMPL", "Nowhere")


@pytest.mark.parametrize("name", ["no_namespace", "::x", "a::", "a::b::c"])
def test_names_of_operators_have_a_namespace(name):
    with pytest.raises(ValueError, match="expected the name of an operator as 'namespace::name'"):
        torch.library.define(name, "(Tensor x) -> Tensor")


def test_schemas_are_read():
    s = Schema.parse(
        'f.out(Tensor(a) x, Tensor(b!)[] many, int[2] k=[1, 2], float e=1, *, str mode="a, b", ScalarType? t=None, Scalar s=-2.5) -> (Tensor(a), int[])'
    )
    assert [a.type for a in s.arguments] == ["Tensor", "Tensor[]", "int[2]", "float", "str", "ScalarType?", "Scalar"]
    assert [a.default_value for a in s.arguments] == [None, None, [1, 2], 1.0, "a, b", None, -2.5]
    assert (
        s.written == ["many"]
        and s.returns == ["Tensor", "int[]"]
        and [a.kwarg_only for a in s.arguments[3:5]] == [False, True]
    )
    assert (
        Schema.parse("ns::g() -> ()").returns == []
        and Schema.parse("g(ScalarType t=float32) -> bool").arguments[0].default_value is torch.float32
    )
    for text, message in (
        ("f(Tensor x)", "the schema of an operator is"),
        ("f(x) -> Tensor", "'type name' or 'type name=default', got 'x'"),
        ("f(int x=nonsense) -> Tensor", "a default in a schema cannot be read: 'nonsense'"),
        ("f(int x, int x) -> Tensor", "two arguments of a schema have one name"),
    ):
        with pytest.raises(RuntimeError, match=message):
            Schema.parse(text)


def test_schemas_of_annotations():
    def many(
        a: Tensor, b: Tensor | None, c: list[Tensor], d: "list[int]", e: bool = True, f: str = "x", g: float | None = None, *,
        h: torch.dtype = torch.float32, i: list[int] | None = None, j: int | float | bool = 1,
    ) -> tuple[Tensor, int]: ...  # fmt: skip

    assert infer_schema(many, mutates_args={"a"}, op_name="many") == (
        'many(Tensor(a0!) a, Tensor? b, Tensor[] c, SymInt[] d, bool e=True, str f="x", float? g=None, *, ScalarType h=float32, '
        "SymInt[]? i=None, Scalar j=1) -> (Tensor, SymInt)"
    )

    def nothing(a: Tensor) -> None: ...

    assert infer_schema(nothing, mutates_args="unknown") == "(Tensor(a0!) a) -> ()"

    def unmarked(x): ...
    def odd(x: set) -> Tensor: ...
    def without(x: Tensor): ...
    def starred(*x: Tensor) -> Tensor: ...

    for function, message in (
        (unmarked, "Parameter x must have a type annotation"),
        (odd, "Parameter x has unsupported type"),
        (without, "The return must have a type annotation"),
        (starred, "Parameter x must have a place and a name"),
    ):
        with pytest.raises(ValueError, match=message):
            infer_schema(function, mutates_args=())
    with pytest.raises(ValueError, match="mutates_args names y, which is no parameter"):
        infer_schema(nothing, mutates_args=("y",))
    with pytest.raises(ValueError, match=r"custom_op\('shelf::odd'\).*writes to \['a'\], but mutates_args is \(\)"):
        torch.library.custom_op("shelf::odd", nothing, mutates_args=(), schema="(Tensor(x!) a) -> ()")


# --- layers ---


def _scale(name):
    @torch.library.custom_op(f"testrows::{name}", mutates_args=())
    def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
        return torch.tensor(x.tolist()) * by

    return scale


def test_a_mode_sees_an_operator_with_its_arguments():
    from torch import _dispatch

    class Log:
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append((func, args, kwargs))
            return func(*args, **kwargs)

    calls, scale, x = [], _scale("seen"), torch.ones(2)
    _dispatch.push(Log())
    try:
        assert scale(x, 3.0).tolist() == [3.0, 3.0]
    finally:
        _dispatch.pop()
    assert calls[0][0] is torch.ops.testrows.seen.default and calls[0][1][1] == 3.0
    assert calls[0][0].overloadpacket is torch.ops.testrows.seen


def test_a_class_may_have_a_rule_of_its_own_for_an_operator():
    class Tagged(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("the rule goes first")

    scale = _scale("ruled")

    @scale.register_torch_dispatch(Tagged)
    def _(cls, func, types, args, kwargs):
        return torch.full((1,), 42.0)

    assert scale(torch.Tensor._make_subclass(Tagged, torch.ones(1))).item() == 42.0


def test_a_function_mode_and_a_subclass_see_it():
    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Named(torch.Tensor):
        pass

    seen = []
    _scale("functions")
    with Log():
        torch.ops.testrows.functions(torch.ones(1))
    assert seen[0] is torch.ops.testrows.functions or seen[1] is torch.ops.testrows.functions
    assert type(torch.ops.testrows.functions(torch.ones(1).as_subclass(Named))) is Named


def test_results_are_those_of_the_schema():
    wrong = {
        "three": ("Tensor", lambda x: 3, "must return a Tensor, as its schema says, not int"),
        "one": ("(Tensor, Tensor)", lambda x: x.clone(), "must return a sequence of Tensors"),
        "more": ("(Tensor, Tensor)", lambda x: (x, x, x), "must return a tuple of 2"),
        "text": ("int", lambda x: "a", "int"),
    }
    lib = torch.library.Library("testresults", "DEF")
    for name, (result, function, message) in wrong.items():
        lib.define(f"{name}(Tensor x) -> {result}")
        lib.impl(name, function, "CPU")
        with pytest.raises(TypeError, match=message):
            getattr(torch.ops.testresults, name)(torch.ones(2))


def test_arguments_of_another_type_are_named():
    scale = _scale("typed")
    with pytest.raises(
        RuntimeError, match="Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"
    ):
        scale(3)
    with pytest.raises(RuntimeError, match="Expected a value of type 'float' for argument 'by'"):
        scale(torch.ones(1), "a")
    with pytest.raises(RuntimeError, match="unknown type specifier 'Tensr'"):
        torch.library.Library("testtypes", "DEF").define("f(Tensr x) -> Tensor")


def test_operators_with_types_that_rows_have_not_run_too():
    lib = torch.library.Library("testlists", "DEF")
    lib.define("dot(Tensor x, float[] w) -> Tensor")
    lib.impl("dot", lambda x, w: x * torch.tensor(w), "CompositeExplicitAutograd")
    assert torch.ops.testlists.dot(torch.ones(2), [1.0, 2.0]).tolist() == [1.0, 2.0]


def test_what_a_function_raises_arrives():
    lib = torch.library.Library("testraises", "DEF")
    lib.define("f(Tensor x) -> Tensor")

    @torch.library.impl(lib, "f", "CPU")
    def f(x):
        raise TypeError("mine")

    with pytest.raises(TypeError, match="^mine$"):
        torch.ops.testraises.f(torch.ones(1))


def test_arguments_in_memory_that_gpus_share_are_named_before_or_after_the_definition():
    lib = torch.library.Library("testshared", "DEF")
    lib.register_symm_mem_args("reduce", ["x"])
    lib.define("reduce(Tensor x, Tensor y, str group_name) -> Tensor")
    overload = torch.ops.testshared.reduce.default
    assert overload.symm_mem_args == {"x"}
    lib.register_symm_mem_args(overload, ["x", "y"])
    assert overload.symm_mem_args == {"x", "y"}
    with pytest.raises(ValueError, match="Cannot register empty arg_names list for testshared::reduce"):
        lib.register_symm_mem_args("reduce", [])
    with pytest.raises(ValueError, match=r"testshared::reduce has no argument 'z': testshared::reduce\(Tensor x"):
        lib.register_symm_mem_args("testshared::reduce", ["x", "z"])
    with pytest.raises(TypeError, match="a list of names, got the str 'x'"):
        lib.register_symm_mem_args("reduce", "x")
    with pytest.raises(RuntimeError, match="either a name or an OpOverload"):
        lib.register_symm_mem_args(torch.ops.testshared.reduce, ["x"])
    assert overload.symm_mem_args == {"x", "y"}


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        ("(Tensor x) -> (Tensor, int)", lambda x: (x.clone(), "a"), "must return int, as its schema says, not str 'a'"),
        ("(Tensor x) -> (Tensor, int)", lambda x: x.clone(), "must return 2 values, as its schema says, not Tensor"),
        ("(Tensor x) -> (Tensor, int)", lambda x: (x, 1, 2), "must return 2 values, as its schema says, not 3"),
        ("(Tensor x) -> int", lambda x: 1.5, "must return int, as its schema says, not float 1.5"),
        ("(Tensor x) -> bool", lambda x: 2, "must return bool, as its schema says, not int 2"),
        ("(Tensor x) -> int[]", lambda x: [1, "a"], "must return int[], as its schema says, not list"),
        ("(Tensor x) -> str", lambda x: None, "must return str, as its schema says, not NoneType"),
        (
            "(Tensor x) -> Tensor[]",
            lambda x: [x.clone(), 1],
            "must return a sequence of Tensors, as its schema says, not int",
        ),
        (
            "(Tensor x) -> Tensor[]",
            lambda x: [None],
            "must return a sequence of Tensors, as its schema says, not NoneType",
        ),
        (
            "(Tensor x) -> (Tensor, Tensor)",
            lambda x: (x.clone(), None),
            "must return a sequence of Tensors, as its schema says",
        ),
        ("(Tensor x, float[] n=[1.0]) -> Tensor", lambda x, n: 3, "must return Tensor, as its schema says, not int 3"),
    ],
)
def test_results_that_are_none_of_the_schema_are_refused(schema, value, expected):
    with torch.library._scoped_library("wrongly", "DEF") as lib:
        lib.define(f"f{schema}")
        lib.impl("f", value, "CPU")
        with pytest.raises(TypeError, match=re.escape(expected)):
            torch.ops.wrongly.f(torch.ones(1))


def test_numbers_of_results_have_the_type_of_the_schema():
    with torch.library._scoped_library("exactly", "DEF") as lib:
        lib.define("f(Tensor x) -> (Tensor, float, int, bool)")
        lib.impl("f", lambda x: (x.clone(), 1, True, 0), "CPU")
        assert [type(v) for v in torch.ops.exactly.f(torch.ones(1))] == [Tensor, float, int, bool]


def test_a_schema_says_what_the_operator_gives():
    with pytest.raises(RuntimeError, match="the schema of an operator is .* got"):
        torch.library.define("shelf::without", "(Tensor x) -> ")


def test_one_library_defines_a_namespace_at_a_time():
    lib = torch.library.Library("once", "DEF")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY .* the namespace once"):
        torch.library.Library("once", "DEF")
    torch.library.Library("once", "FRAGMENT").define("f(Tensor x) -> Tensor")
    del lib
    torch.library.Library("once", "DEF")


def test_a_function_that_takes_the_place_of_another_warns():
    with torch.library._scoped_library("twice", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 1, "CPU")
        with pytest.warns(UserWarning, match="previously registered kernel .*: twice::f, CPU"):
            lib.impl("f", lambda x: x + 2, "CPU")
        lib.impl("f", lambda x: x + 3, "CPU", allow_override=True)
        assert torch.ops.twice.f(torch.ones(1)).item() == 4


def test_a_mode_that_was_not_entered_cannot_be_left():
    with pytest.raises(RuntimeError, match="__torch_function__ is left that this thread has not entered"):
        torch.overrides.TorchFunctionMode().__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="__torch_dispatch__ is left that this thread has not entered"):
        _seams.pop_mode()


def test_an_operator_of_the_program_takes_dtypes_that_only_store_numbers():
    @torch.library.custom_op("mine::widened", mutates_args=())
    def widened(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return x.float() * scale

    library = torch.library.Library("mine", "FRAGMENT")
    library.define("narrowed(Tensor x) -> Tensor")
    library.impl("narrowed", lambda x: x.to(torch.float8_e4m3fn), "CPU")
    narrow = torch.ops.mine.narrowed(torch.tensor([1.0, 2.0]))
    assert narrow.dtype == torch.float8_e4m3fn
    assert widened(narrow, torch.tensor(3.0)).tolist() == [3, 6]
    assert torch.ops.mine.narrowed(narrow).view(torch.uint8).tolist() == narrow.view(torch.uint8).tolist()


def test_a_function_for_autocast_is_called_where_that_is_on():
    lib = torch.library.Library("autocast_function", "DEF")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CPU")
    off = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    seen = []

    def under_autocast(x):
        with torch._C._ExcludeDispatchKeyGuard(off):
            seen.append(torch.is_autocast_enabled("cpu"))
            return torch.ops.autocast_function.twice(x.float()).to(x.dtype)

    lib.impl("twice", under_autocast, "AutocastCPU")
    x = torch.ones(2, dtype=torch.bfloat16)
    assert torch.ops.autocast_function.twice(x).tolist() == [2, 2] and seen == []
    with torch.autocast("cpu"):
        assert torch.ops.autocast_function.twice(x).dtype == torch.bfloat16
        assert torch.is_autocast_enabled("cpu")
    assert seen == [False]


def test_numbers_of_numpy_are_numbers():
    library = torch.library.Library("of_numpys_numbers", "DEF")
    library.define("scaled(Tensor x, float by, int plus) -> Tensor")
    library.impl("scaled", lambda x, by, plus: x * float(by) + int(plus), "CompositeExplicitAutograd")
    scaled, x = torch.ops.of_numpys_numbers.scaled, torch.ones(2)
    assert scaled(x, np.float32(0.5), np.int64(2)).tolist() == [2.5, 2.5]
    with pytest.raises(RuntimeError, match="value of type 'int' for argument 'plus' but instead found type 'float32'"):
        scaled(x, 0.5, np.float32(2))
