"""The texts of programs call PyTorch's operators by their names, with arguments that these take."""

import ast
import io
import json
import pathlib
import re

import pytest
import torch
from torch.jit import _ir as ir
from torch.jit._schema import of_signature
from torch.jit._script.printer import code_of

OPERATORS = json.loads((pathlib.Path(__file__).parent / "pytorch_operators.json").read_text())

# Rows that no program of PyTorch's script language comes to, or that its programs have no operator for.
OWN = [
    "_igamma_slope",
    "_native_layer_norm",
    "_native_group_norm",
    "_einsum",
    "_lu_permutation",
    "_linalg_solve",
    "_linalg_lstsq",
    "_linalg_svd",
    "_linear_recurrence",
    "_recurrence",
    "_narrow_linear",
    "_attention",
    "_attention_forward",
    "_attention_weights",
    "_segment_sum",
    "_compressed_with_values",
    "_check_compressed",
    "_compressed_matmul",
    "_fft_r2c",
    "_fft_c2r",
    "max_pool",
    "max_pool_gather",
    "max_pool_indices",
    "max_unpool1d",
    "avg_pool",
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "plane_gather",
    "plane_scatter",
    "reflection_pad",
    "replication_pad",
    "circular_pad",
    "resample",
    "softmin",
    "symeig",
    "eig",
    "gels",
    "pstrf",
    "btrifact_with_info",
    "btrisolve",
    "btriunpack",
    "gesv",
    "potrf",
    "potri",
    "potrs",
    "trtrs",
    "mathpow",
    "ndimension",
    "nelement",
    "float",
    "double",
    "half",
    "bfloat16",
    "long",
    "int",
    "short",
    "char",
    "byte",
    "bool",
    "get_default_dtype",
    "range",
    "to_sparse",
    "round_digits.int",
    "round_digits.float",
    "Int.str_base",
    "real.complex",
    "imag.complex",
    "conj.complex",
    "log2.int",
    "log2.float",
    "hypot",
    "mul.str",
    "norm.1",
    "Complex.Tensor",
    "__contains__.str",
    "range.n",
]
BEGINNINGS = ("_int8_", "_sparse_", "sparse_", "_to_sparse")  # of such rows
ENDS = ("_backward",)
ROWS = {}
for each in ir.all_signatures():
    schema = of_signature(each)
    name = schema.name.removeprefix("aten::")
    full = f"{name}.{schema.overload_name}"
    if name in OWN or full in OWN:
        continue
    if schema.name.startswith("aten::") and not name.startswith(BEGINNINGS) and not name.endswith(ENDS):
        ROWS[str(schema)] = each, schema


def plain(type):
    """What is given for a parameter of a type."""
    return type.getElementType() if type.kind() == "OptionalType" else type


def called(signature, schema, everything):
    """The call of a row as a text has it, and the types of what it is given by name."""
    graph, inputs, given = ir.Graph(), [], {}
    for each in schema.arguments:
        if everything or not each.has_default:
            value = graph.addInput(f"given_{each.name}")
            value.setType(plain(each.type))
            given[f"given_{each.name}"] = str(plain(each.type))
        else:
            value = graph.insertConstant(each.default_value)
        inputs.append(value)
    node = graph.create(schema.name, inputs, len(signature.results))
    graph.insertNode(node)
    for output, (_, type) in zip(node.outputs(), signature.results):
        output.setType(type)
        graph.registerOutput(output)
    function = torch._C._create_function_from_graph("f", graph)._run
    text = ast.parse(code_of(function))
    return next(
        (each for each in ast.walk(text) if isinstance(each, ast.Call)), None
    ), given  # None for an item of a list


def accepts(wanted, given):
    """Whether a parameter takes a value of a type."""
    if wanted.startswith("Optional["):
        return given is None or accepts(wanted[9:-1], given)
    if given == "number" or wanted == "number":
        return {wanted, given} <= {"number", "int", "float", "bool", "complex"}
    return re.fullmatch(re.sub(r"\bt\w*\b", ".+", re.escape(wanted)), given) is not None


def fits(overload, places, named):
    """Whether an overload takes arguments of these types; those that are not known are taken for right."""
    before, _, after = overload.partition("*, ") if "*, " in overload else (overload, "", "")
    parse = lambda part: [each.rpartition(" ")[::2] for each in _split(part)]
    positional, keyword = parse(before), {name.rstrip("="): type for type, name in parse(after)}
    if len(places) > len(positional):
        return False
    given = dict(zip((name.rstrip("=") for _, name in positional), places))
    given.update(named)
    types = {**{name.rstrip("="): type for type, name in positional}, **keyword}
    needed = [name for part in (before, after) for _, name in parse(part) if not name.endswith("=")]
    return set(needed) <= set(given) <= set(types) and all(
        each == "?" or accepts(types[name], each) for name, each in given.items()
    )


def _split(text):
    """The parameters of an overload: types have commas, too."""
    parts, depth = [""], 0
    for each in text:
        depth += (each in "[(") - (each in "])")
        if each == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += each
    return [each.strip() for each in parts if each.strip()]


@pytest.mark.parametrize("everything", [False, True])
def test_pytorch_has_the_operators_that_programs_call(everything):
    wrong = []
    for text, (signature, schema) in ROWS.items():
        if any(re.search(r"\bt(\d|Key)?\b", str(a.type)) for a in schema.arguments):  # of any type
            continue
        if any(not a.name.isidentifier() or a.name == "from" for a in schema.arguments) or not signature.results:
            continue
        call, given = called(signature, schema, everything)
        if call is None or ast.unparse(call.func) in ("int", "float", "bool", "str", "annotate"):
            continue
        type_of = lambda node: given.get(node.id, "?") if isinstance(node, ast.Name) else "?"
        places, named = [type_of(each) for each in call.args], {each.arg: type_of(each.value) for each in call.keywords}
        overloads = OPERATORS.get(ast.unparse(call.func).removeprefix("torch."), [])
        if not any(fits(each, places, named) for each in overloads):
            wrong.append(f"{text} is written {ast.unparse(call)}")
    assert not wrong, "\n".join(wrong)


def add_scaled(x):
    return torch.add(2, x, alpha=3)


def divide_wholly(x):
    return 0.7 // x


def divide_to_floor(x):
    return torch.div(0.7, x.abs(), rounding_mode="floor")


def all_in_one(x):
    return torch.all(x, dim=None, keepdim=True)


def any_in_one(x, keepdim: bool = True):
    return torch.any(x, dim=None, keepdim=keepdim)


def product_in_one(x):
    return torch.prod(x, dim=None, keepdim=True)


def norm_in_one(x):
    return torch.norm(x, 2, keepdim=True)


def norm_of_rows(x):
    return torch.norm(x, "fro", [0], dtype=torch.float64)


X = torch.tensor([0.7, 0.1, -0.3], dtype=torch.float64)
LIKE = {"many": X, "half": X.half()[2], "byte": torch.tensor(2, dtype=torch.uint8)}
NUMBERS_FIRST = add_scaled, divide_wholly, divide_to_floor
IN_ONE = all_in_one, any_in_one, product_in_one


@pytest.mark.parametrize(
    "f, x",
    [
        *(pytest.param(f, x, id=f"{f.__name__}-{like}") for f in (*NUMBERS_FIRST, *IN_ONE) for like, x in LIKE.items()),
        *(pytest.param(f, X, id=f.__name__) for f in (norm_in_one, norm_of_rows)),
    ],
)
def test_what_is_saved_computes_the_same(f, x):
    torch.jit.script(f).save(file := io.BytesIO())
    torch.testing.assert_close(torch.jit.load(io.BytesIO(file.getvalue()))(x), f(x))


def with_flag(x, flag: bool):
    return x + flag


def test_truths_that_only_the_run_tells_stay_truths():
    assert "torch.add(x, torch.tensor(flag))" in torch.jit.script(with_flag).code
