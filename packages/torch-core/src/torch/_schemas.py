"""Schemas of operators as programs write them: ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``."""

import re
from dataclasses import dataclass, field
from numbers import Integral, Real

from . import _C

NUMBER = (int, float, complex, bool)
#: what a value of each type is, for choosing among overloads
CHECKS = {
    "Tensor": lambda v: isinstance(v, _C.Tensor),
    "int": lambda v: isinstance(v, Integral) and not isinstance(v, bool),
    "SymInt": lambda v: isinstance(v, Integral) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, Real) and not isinstance(v, bool),  # NumPy's numbers, too
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "Scalar": lambda v: isinstance(v, NUMBER),
    "ScalarType": lambda v: isinstance(v, _C.dtype),
    "Device": lambda v: isinstance(v, (_C.device, str)),
    "Generator": lambda v: isinstance(v, _C.Generator),
}
CONSTANTS = {
    "None": None, "True": True, "False": False, "contiguous_format": None, "Mean": 1, "inf": float("inf"),
    "preserve_format": _C.preserve_format,
}  # fmt: skip


#: dtypes by the numbers that PyTorch's schemas give them
CODES = dict(
    enumerate(
        [
            "uint8",
            "int8",
            "int16",
            "int32",
            "int64",
            "float16",
            "float32",
            "float64",
            "complex32",
            "complex64",
            "complex128",
            "bool",
        ]
    )
) | {15: "bfloat16"}


@dataclass
class AliasInfo:
    """What the mark of an alias says: ``(a!)`` that the operator writes, ``(a)`` that the result shares memory."""

    before_set: frozenset[str]
    is_write: bool

    after_set = property(lambda self: self.before_set)


class Return(str):
    """The type of a result, with the mark of an alias and the name beside it."""

    alias_info, name = None, ""
    type = property(str)


@dataclass
class Argument:
    """One parameter: its type without the marks of aliases, and whether the operator writes to it."""

    name: str
    type: str
    has_default: bool = False
    default_value: object = None
    kwarg_only: bool = False
    is_write: bool = False
    alias_info: AliasInfo | None = None

    def fits(self, value):
        """Whether the value is of the type."""
        kind = self.type
        if kind.endswith("?"):
            if value is None:
                return True
            kind = kind[:-1]
        if match := re.fullmatch(r"(.+)\[\d*\]", kind):
            inner = Argument("", match[1])
            if isinstance(value, (list, tuple)):
                return all(map(inner.fits, value))
            return kind[-2] != "[" and inner.fits(value)  # int[2] takes one int for both
        if kind.startswith("Dict("):
            of_keys, of_values = (Argument("", part) for part in _split(kind[5:-1]))
            return (
                isinstance(value, dict) and all(map(of_keys.fits, value)) and all(map(of_values.fits, value.values()))
            )
        check = CHECKS.get(kind)
        return check is None or check(value)


@dataclass
class Schema:
    """A name, the parameters and the types of the results."""

    name: str
    overload: str
    arguments: list[Argument]
    returns: list[str]
    text: str
    written: list[str] = field(default_factory=list)
    namespace: str = ""

    @classmethod
    def parse(cls, text):
        """Read a schema; RuntimeError says what is wrong with it.

        >>> s = Schema.parse("add.out(Tensor a, int n=3, *, Tensor(a!) out) -> Tensor(a!)")
        >>> s.name, s.overload, [(a.name, a.type, a.default_value) for a in s.arguments], s.written
        ('add', 'out', [('a', 'Tensor', None), ('n', 'int', 3), ('out', 'Tensor', None)], ['out'])
        """
        match = re.fullmatch(r"\s*(?:\w+::)?(\w+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(\S.*?)\s*", text, re.DOTALL)
        if match is None:
            raise RuntimeError(f"the schema of an operator is 'name(type argument, ...) -> type', got {text!r}")
        name, overload, inside, results = match.groups()
        arguments, kwarg_only = [], False
        for part in _split(inside):
            if part == "*":
                kwarg_only = True
                continue
            arguments.append(_argument(part, kwarg_only, text))
        if len({a.name for a in arguments}) != len(arguments):
            raise RuntimeError(f"two arguments of a schema have one name: {text!r}")
        if results.startswith("(") and results.endswith(")"):
            results = results[1:-1]
        returns = [_return(part) for part in _split(results)]
        for kind in returns:
            _check_type(kind, text)
        signature = text.strip().partition("::")[2] if re.match(r"\s*\w+::", text) else text.strip()
        written = [a.name for a in arguments if a.is_write]
        return cls(name, overload or "", arguments, returns, signature, written)

    @property
    def full_name(self):
        """Name and overload with a dot between them."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    overload_name = property(lambda self: self.overload)

    @property
    def is_mutable(self):
        """Whether the operator writes to an argument."""
        return bool(self.written)

    def __str__(self):
        return f"{self.namespace}::{self.text}" if self.namespace else self.text

    def bind(self, name, args, kwargs, types=False):
        """The value of each argument; RuntimeError when they do not fit, with ``types`` also by their types."""
        places = [a for a in self.arguments if not a.kwarg_only]
        if len(args) > len(places):
            raise RuntimeError(f"{name}() takes {len(places)} positional arguments, got {len(args)}. Schema: {self}")
        found = {a.name: value for a, value in zip(places, args, strict=False)}
        for key, value in kwargs.items():
            if key in found:
                raise RuntimeError(f"{name}() got two values for argument '{key}'. Schema: {self}")
            if all(a.name != key for a in self.arguments):
                raise RuntimeError(f"Unknown keyword argument '{key}' for operator '{name}'. Schema: {self}")
            found[key] = value
        for a in self.arguments:
            if a.name not in found:
                if not a.has_default:
                    raise RuntimeError(f"{name}() is missing value for argument '{a.name}'. Schema: {self}")
                found[a.name] = a.default_value
            elif types and not a.fits(found[a.name]):
                raise RuntimeError(
                    f"{name}(): argument '{a.name}' is of type {a.type}, got {type(found[a.name]).__name__}"
                )
        return {a.name: found[a.name] for a in self.arguments}

    def misfit(self, name, arguments):
        """What is wrong with the type of an argument; None when all fit."""
        for i, a in enumerate(self.arguments):
            value = arguments[a.name]
            if not a.fits(value):
                return (
                    f"{name}() Expected a value of type '{a.type}' for argument '{a.name}' but instead found type "
                    f"'{type(value).__name__}'.\nPosition: {i}\nValue: {value!r:.80}\nDeclaration: {self}"
                )
        return None

    def as_row(self, namespace):
        """The schema in the words of torch._C (core/include/torch/core/schema.h); None when a type has none."""
        parts, star = [], False
        for a in self.arguments:
            word = _word(a.type, a.alias_info)
            if word is None:
                return None
            if a.kwarg_only and not star:
                parts.append("*")
                star = True
            parts.append(f"{word} {a.name}")
        # Of several results a row does not say which argument each of them is.
        results = [_word(r, r.alias_info if len(self.returns) == 1 else None) for r in self.returns]
        one_kind = len(results) < 2 or all(r == "Tensor" for r in results)
        if None in results or "str" in results or not one_kind or len(self.arguments) > 16 or len(results) > 6:
            return None
        given = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{namespace}::{self.full_name}({', '.join(parts)}) -> {given}"

    def result(self, name, value):
        """What a function gave, as the results that the schema names; TypeError for anything else.

        >>> Schema.parse("split(Tensor x) -> (int, float)").result("my::split", (1, 2))
        (1, 2.0)
        """
        if not self.returns:
            return None
        several = len(self.returns) > 1
        given = value if several else (value,)
        if not isinstance(given, (tuple, list)) or len(given) != len(self.returns):
            found = len(given) if isinstance(given, (tuple, list)) else type(value).__name__
            raise TypeError(
                f"{name}: the function that was registered for it must return {len(self.returns)} values, "
                f"as its schema says, not {found}. Schema: {self}"
            )
        found = [self._one_result(name, kind, one) for kind, one in zip(self.returns, given, strict=True)]
        return tuple(found) if several else found[0]

    def _one_result(self, name, kind, value):
        if kind in ("int", "SymInt", "bool", "float") and isinstance(value, (int, float)):
            number = {"bool": bool, "float": float}.get(kind, int)(value)
            if number == value:  # True is an int to Python, and 1 a float
                return number
        if not Argument("", str(kind)).fits(value):
            raise TypeError(
                f"{name}: the function that was registered for it must return {kind}, as its schema says, "
                f"not {type(value).__name__}{_short(value)}. Schema: {self}"
            )
        return value

    def positional(self, arguments):
        """The values of arguments that have a place."""
        return tuple(arguments[a.name] for a in self.arguments if not a.kwarg_only)

    def named(self, arguments):
        """The values of arguments that only have a name."""
        return {a.name: arguments[a.name] for a in self.arguments if a.kwarg_only}


def _short(value):
    """Numbers and texts in errors; what is longer is only named by its type."""
    return f" {value!r}" if isinstance(value, (*NUMBER, str)) and len(str(value)) < 40 else ""


_WORDS = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str", "Scalar": "Scalar",
    "ScalarType": "dtype", "Device": "device", "Layout": "layout", "MemoryFormat": "memory_format",
}  # fmt: skip


def _word(kind, alias):
    """A type as rows write it, or None."""
    match = re.fullmatch(r"(\w+)(\?)?(\[\d*\])?(\?)?", kind)
    word = _WORDS.get(match[1]) if match else None
    if word is None or (match[3] and word not in ("Tensor", "int")) or (match[3] and match[2] and word == "int"):
        return None
    if alias is not None:
        if match[3] or word != "Tensor":
            return None
        word += "(a!)" if alias.is_write else "(a)"
    return word + (match[2] or "") + (match[3] or "") + (match[4] or "")


def _split(text):
    """Parts between commas that stand in no brackets and no quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _without_alias(text):
    """``Tensor(a!)[] x`` without the mark, and whether it says that the operator writes."""
    match = re.match(r"\s*\w+(\([^),]*\))", text)  # one with a comma is that of Dict(str, Tensor)
    if match is None:
        return text.strip(), False
    return (text[: match.start(1)] + text[match.end(1) :]).strip(), "!" in match[1]


def _alias(text):
    """What the mark of an alias in ``Tensor(a!) x`` says, or None."""
    match = re.match(r"\s*\w+\(([^),]*)\)", text)
    if match is None:
        return None
    return AliasInfo(frozenset(re.findall(r"\w+", match[1])), "!" in match[1])


def _words(text):
    """What stands between spaces outside of brackets.

    >>> _words("Dict(str, Tensor) found")
    ['Dict(str, Tensor)', 'found']
    """
    return re.findall(r"(?:\((?:[^()]|\([^()]*\))*\)|\S)+", text)


def _return(text):
    words = _words(_without_alias(text)[0])
    result = Return(words[0])
    result.alias_info, result.name = _alias(text), words[1] if len(words) > 1 else ""
    return result


KNOWN = {
    *CHECKS, "Layout", "MemoryFormat", "Any", "Stream", "Dimname", "complex", "Storage", "QScheme", "SymBool", "number",
    "Number", "DeviceIndex", "dtype", "device", "layout", "memory_format", "generator",
}  # fmt: skip


def _check_type(kind, schema):
    word = re.match(r"\w*", kind)[0]
    if word not in KNOWN and "(" not in kind and "." not in kind and len(word) > 1:
        raise RuntimeError(
            f"unknown type specifier {word!r} in the schema {schema!r}. Common valid schema types include Tensor, SymInt, "
            "int, float, bool, Scalar"
        )


def _argument(text, kwarg_only, schema):
    declared, equals, default = text.partition("=")
    alias = _alias(declared)
    declared, is_write = _without_alias(declared)
    words = _words(declared)
    if len(words) != 2:
        raise RuntimeError(f"an argument of a schema is 'type name' or 'type name=default', got {text!r} in {schema!r}")
    _check_type(words[0], schema)
    value = _constant(default.strip(), words[0], schema) if equals else None
    return Argument(words[1], words[0], bool(equals), value, kwarg_only, is_write, alias)


def _constant(text, kind, schema):
    import ast

    if text in CONSTANTS:
        return CONSTANTS[text]
    if kind.startswith("ScalarType") and isinstance(dtype := getattr(_C, text, None), _C.dtype):
        return dtype
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        raise RuntimeError(f"a default in a schema cannot be read: {text!r} in {schema!r}") from None
    if kind.startswith("ScalarType") and value in CODES:
        return getattr(_C, CODES[value])
    if kind.startswith("float") and isinstance(value, int):
        return float(value)
    if kind.startswith("Device"):
        return _C.device(value)
    return value


# --- from the annotations of a function ---


def _type_of(annotation):
    """The schema's word for an annotation, or None."""
    import collections.abc
    import types
    import typing

    plain = {
        _C.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", _C.dtype: "ScalarType", _C.device: "Device",
    }  # fmt: skip
    if annotation in plain:
        return plain[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in inner if a is not type(None)]
        if set(rest) == {int, float, bool}:
            word = "Scalar"
        elif len(rest) == 1:
            word = _type_of(rest[0])
        else:
            return None
        return word + "?" if word and len(rest) < len(inner) else word
    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        word = _type_of(inner[0])
        return f"{word}[]" if word and not word.endswith("[]") else None
    return None


def _default_text(value, name):
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, _C.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, _C.device):
        return f'"{value}"'
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    raise ValueError(f"infer_schema(func): Parameter {name} has an unsupported default value {value!r}")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema that the annotations of a function say.

    ``mutates_args`` names the arguments that the function writes to, or is "unknown": then every tensor counts. Raises
    ValueError for a parameter without an annotation, or with one that schemas have no word for.

    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    import inspect
    import typing

    signature = inspect.signature(prototype_function)
    try:
        hints = typing.get_type_hints(prototype_function)
    except (NameError, TypeError):
        hints = {}

    def wrong(text):
        return ValueError(f"infer_schema(func): {text} Got func with signature {signature}")

    parts, star, seen = [], False, set()
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            raise wrong(f"Parameter {name} must have a place and a name: no *args, **kwargs or '/'.")
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if p.annotation is p.empty:
            raise wrong(f"Parameter {name} must have a type annotation.")
        word = _type_of(hints.get(name, p.annotation))
        if word is None:
            raise wrong(f"Parameter {name} has unsupported type {p.annotation}.")
        if (mutates_args == "unknown" and word.startswith("Tensor")) or (
            mutates_args != "unknown" and name in mutates_args
        ):
            if not word.startswith("Tensor"):
                raise wrong(f"Parameter {name} is in mutates_args but only tensors or lists of them can be mutated.")
            word = word.replace("Tensor", f"Tensor(a{i}!)", 1)
        seen.add(name)
        parts.append(f"{word} {name}" + ("" if p.default is p.empty else f"={_default_text(p.default, name)}"))
    if mutates_args != "unknown" and (unknown := set(mutates_args) - seen):
        raise wrong(f"mutates_args names {', '.join(sorted(unknown))}, which is no parameter.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_results(hints, signature, wrong)}"


def _results(hints, signature, wrong):
    import typing

    if signature.return_annotation is signature.empty:
        raise wrong("The return must have a type annotation.")
    annotation = hints.get("return", signature.return_annotation)
    if annotation in (None, type(None)):
        return "()"
    inner = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else ()
    words = [_type_of(a) for a in inner or (annotation,)]
    if None in words or Ellipsis in inner:
        raise wrong(f"Return has unsupported type {annotation}.")
    return f"({', '.join(words)})" if len(words) > 1 else words[0]
