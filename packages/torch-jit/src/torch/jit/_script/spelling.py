"""Rows in the words of PyTorch's operators, which the texts of programs say: other names, orders of arguments and defaults; and
the names back.
"""

from __future__ import annotations

from .literals import constant, is_default, literal, schema_parameters

__all__ = ["ROWS", "Call", "says_twice"]

_SPECIAL = """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v
    chebyshev_polynomial_w entr erfcx hermite_polynomial_h hermite_polynomial_he i0e i1 i1e laguerre_polynomial_l
    legendre_polynomial_p log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri
    scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
    shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0 xlog1py zeta"""
_LINALG = """cholesky_ex cond eigh eigvals eigvalsh householder_product inv inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu
    lu_factor lu_factor_ex matrix_norm matrix_rank multi_dot pinv solve solve_ex solve_triangular svdvals tensorinv tensorsolve
    vecdot vector_norm"""
_FFT = """fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft hfft2 hfftn ihfft ihfft2 ihfftn fftfreq
    rfftfreq fftshift ifftshift"""

_NAMES = {
    "cross_entropy": "cross_entropy_loss", "T": "numpy_T", "nonzero_tuple": "nonzero_numpy", "_tensordot": "tensordot", "huber": "huber_loss",
    **{f"_unique{each}": theirs for each, theirs in (("", "_unique2"), ("_dim", "unique_dim"), ("_consecutive", "unique_consecutive"))},
    **{
        name: f"{space}_{name}"
        for space, names in (("special", _SPECIAL), ("linalg", _LINALG), ("fft", _FFT))
        for name in names.split()
    },
}  # fmt: skip
ROWS = {  # the way back, where the arguments stay as they are
    theirs: ours for ours, theirs in _NAMES.items() if not ours.startswith("_unique") and ours != "huber"
}

# Operators whose arguments have no defaults in PyTorch.
_WHOLE = frozenset({"batch_norm", "instance_norm", "linspace", "logspace", "native_dropout"})
# Rows with rules also where no tensor is given; those of other rows are for tensors.
_OF_NUMBERS = frozenset({"bitwise_not", "eye", "is_autocast_enabled", "repr"})
# Operators of PyTorch's that take True for the number 1.
_OF_TRUTHS = frozenset({"add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor", "where"})
_POOLS = [f"{kind}_pool{n}d{end}" for kind, ends in (("max", ("", "_with_indices")), ("avg", ("",))) for n in (1, 2, 3) for end in ends]  # fmt: skip


class Call:
    """An operator's name, its arguments by place and those by name, as they are written."""

    def __init__(self, node, texts):
        self.kind, self.texts = node.kind().partition("::")[2], list(texts)
        self.name, self.values = _NAMES.get(self.kind, self.kind), list(node.inputs())
        kinds = [each.type().kind() for each in self.values]
        is_of_tensors = "TensorType" in kinds
        if self.kind in _OF_TRUTHS and is_of_tensors:
            self.texts = [f"torch.tensor({t})" if kind == "BoolType" else t for t, kind in zip(self.texts, kinds)]
        parameters = schema_parameters(node.schema()) if node.schema() else []
        self.places, self.named, self.whole = list(self.texts), {}, None
        if len(parameters) == len(self.texts):
            self._by_name(parameters, is_of_tensors)

    def _by_name(self, parameters, is_of_tensors):
        self.parameters = [name for name, *_ in parameters]
        silent = [default is not None and is_default(v, default) for v, (*_, default) in zip(self.values, parameters)]
        keyed = [keyword_only for _, keyword_only, _ in parameters]
        self.places = [text for text, by_name in zip(self.texts, keyed) if not by_name]
        quiet = [each for each, by_name in zip(silent, keyed) if not by_name]
        while self.places and quiet[len(self.places) - 1] and self.kind not in _WHOLE:
            self.places.pop()
        each = zip(self.parameters, self.texts, keyed, silent)
        self.named = {name: text for name, text, by_name, quiet in each if by_name and not quiet}
        rule = _RULES.get(self.kind)
        if rule is not None and (self.kind in _OF_NUMBERS or is_of_tensors):
            rule(self)

    def text(self):
        """The call as it is written."""
        return (
            self.whole
            or f"torch.{self.name}({', '.join([*self.places, *(f'{k}={v}' for k, v in self.named.items())])})"
        )

    def of(self, name):
        """The text of an argument."""
        return self.texts[self.parameters.index(name)]

    def known(self, name):
        """An argument's value where it is a constant."""
        return constant(self.values[self.parameters.index(name)])

    def real(self, name):
        """The text of a number as a float, which is not made of an int by itself there."""
        text, held = self.of(name), self.known(name)
        if isinstance(held, int):
            return literal(float(held))
        kind = self.values[self.parameters.index(name)].type().kind()
        return f"float({text})" if kind in ("IntType", "BoolType", "NumberType") else text

    def is_given(self, name):
        """Whether an argument says anything: whether it may be other than None."""
        return self.known(name) is not None


def _is_rounded(kind, named):
    return kind == "floor_divide" or "rounding_mode" in named


def says_twice(node):
    """Whether the text of a call has an argument twice, which must have a name then."""
    if node.kind() == "aten::floor_divide" or (node.kind() == "aten::div" and node.inputsSize() > 2):
        return node.inputsAt(0).type().kind() != "TensorType"
    return node.kind() in ("aten::huber", "prim::int_pow")


def _number_first(call):
    """Arithmetic of a number with a tensor, where PyTorch's operators have the tensor first."""
    kinds = [each.type().kind() for each in call.values[:2]]
    if kinds[0] == "TensorType" or kinds[1] != "TensorType":
        return
    number, tensor = call.texts[:2]
    if "alpha" in call.named and call.kind == "add":
        call.places, call.named = [f"torch.mul({tensor}, {call.named['alpha']})", number], {}
    elif call.kind in ("add", "mul"):
        call.places = [tensor, number]
    elif call.kind == "sub":
        call.name, call.places, call.named = "rsub", [tensor, number, *call.named.values()], {}
    elif _is_rounded(call.kind, call.named):
        call.places[0] = f"torch.mul(torch.ones_like({tensor}), {number})"  # has the dtype that the two have together
    else:
        call.name, call.places = "mul", [f"torch.reciprocal({tensor})", number]


def _turned(call):
    if call.parameters[0] == "self":
        call.places = [call.of("n"), call.of("self")]


def _unstrided(call):
    """Windows that lie side by side have no stride, which is an empty list there."""
    if not call.is_given("stride") and len(call.places) > 2:
        call.places[2] = "annotate(List[int], [])"


def _padded(call):
    if len(call.places) > 3:
        call.places[3] = call.real("value")


def _inverted(call):
    """The bits of an int turned."""
    if call.values[0].type().kind() == "IntType":
        call.name, call.places = "__xor__", [call.of("a"), "-1"]


def _square(call):
    if not call.is_given("m"):
        del call.places[1:]


def _normed(call):
    order, dim, keepdim = call.known("p"), call.of("dim"), call.of("keepdim")
    if order == "nuc":
        call.name, call.places = "nuclear_norm", [call.of("self"), *([dim] if call.is_given("dim") else []), keepdim]
        return
    if order == "fro":
        call.places[1] = "2"
    if call.is_given("dim"):
        call.places[3:] = [keepdim] if len(call.places) > 3 or call.named else []
    elif len(call.places) > 3:
        call.places[2] = "annotate(List[int], [])"
    else:
        call.places = call.places[:2] if order is not None else [call.of("self"), *(["None"] if call.named else [])]


def _ordered(call):
    """A stable order is asked for by an overload with other places."""
    if "stable" in call.named:
        call.places = call.places[:1]
        call.named.update(dim=call.of("dim"), descending=call.of("descending"))


def _integrated(call):
    if call.is_given("x"):
        call.named.pop("dx", None)
    else:
        del call.places[1:]


def _nth_vander(call):
    if len(call.places) > 1:
        call.named["N"] = call.places.pop()


def _unpooled(call):
    n = int(call.kind[-2])
    call.places += [repr([1] * n), repr([0] * n)]


def _held(call):
    call.name, call.places = "Bool", [f"torch.all({call.of('self')})"]


def _autocast(call):
    """Each device has an operator of its own."""
    asked = {"cpu": "torch.is_autocast_cpu_enabled()", "cuda": "torch.is_autocast_enabled()"}
    device, call.whole = call.known("device_type"), asked.get(call.known("device_type"))
    if not isinstance(device, str):
        call.whole = f'({asked["cpu"]} if torch.eq({call.of("device_type")}, "cpu") else {asked["cuda"]})'


def _reinterpreted(call):
    """A dtype is an int in texts, and one by its place a size."""
    if "dtype" in call.parameters:
        call.places, call.named = [call.of("self")], {"dtype": call.of("dtype")}


def _shown(call):
    """What is no text is written alike by ``str``."""
    call.whole = f"str({call.texts[0]})"


def _hubered(call):
    call.places = [call.of("self"), f"torch.zeros_like({call.of('self')})", "0", call.real("delta")]


def _unique(call):
    call.places = [call.of("self"), "True", call.of("return_inverse"), call.of("return_counts")]


def _unique_along(call):
    call.places = [call.of("self"), call.of("dim"), "True", call.of("return_inverse"), call.of("return_counts")]


def _unique_runs(call):
    call.places = [call.of(name) for name in ("self", "return_inverse", "return_counts", "dim")]


_RULES = {
    **dict.fromkeys(("add", "mul", "sub", "div", "true_divide", "floor_divide"), _number_first), "polygamma": _turned, "pad": _padded,
    "bitwise_not": _inverted, "eye": _square, "norm": _normed, "sort": _ordered, "argsort": _ordered, "trapezoid": _integrated,
    "trapz": _integrated, "cumulative_trapezoid": _integrated, "linalg_vander": _nth_vander, "max_unpool3d": _unpooled,
    "_holds": _held, "is_autocast_enabled": _autocast, "repr": _shown, "view": _reinterpreted, "huber": _hubered, "_unique": _unique, "_unique_dim": _unique_along, "_unique_consecutive": _unique_runs,
    **dict.fromkeys(_POOLS, _unstrided),
}  # fmt: skip
