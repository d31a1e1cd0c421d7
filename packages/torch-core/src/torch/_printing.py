"""How tensors print: `tensor([[1., 2.], [3., 4.]], dtype=torch.float64)`.

One notation and one width for all elements: integers plain, floats with `precision` digits, in scientific notation when
the magnitudes lie more than a factor 1000 apart or out of [1e-4, 1e8]. Above `threshold` elements only the first and
last `edgeitems` of each dimension are shown.
"""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


@dataclass(frozen=True)
class Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": Options(),
    "short": Options(precision=2, edgeitems=2),
    "full": Options(threshold=math.inf),
}
options = PROFILES["default"]


def set_printoptions(
    precision: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    linewidth: Any = None,
    profile: Any = None,
    sci_mode: Any = None,
) -> None:
    """Set how tensors print: digits, elements before summarising, elements shown at each edge, characters a line.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.23456])
    tensor([1.23])
    >>> torch.set_printoptions(profile="default")
    """
    global options
    if profile is not None:
        if profile not in PROFILES:  # programs of years write profile="long", which PyTorch passes over
            names = ", ".join(PROFILES)
            warnings.warn(
                f"set_printoptions: profile {profile!r} changes nothing; it may be one of {names}", stacklevel=2
            )
        options = PROFILES.get(profile, options)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    options = replace(options, sci_mode=sci_mode, **{k: v for k, v in given.items() if v is not None})


def get_printoptions() -> dict[str, Any]:
    """The current settings as a dict."""
    return dict(vars(options))


@contextmanager
def printoptions(**kwargs: Any) -> Any:
    """Set print options for the length of a with block."""
    global options
    before = options
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        options = before


def _scientific(finite, whole):
    magnitudes = [abs(v) for v in finite if v]
    if not magnitudes:
        return False
    if options.sci_mode is not None:
        return options.sci_mode
    low, high = min(magnitudes), max(magnitudes)
    return high / low > 1000 or high > 1e8 or (not whole and low < 1e-4)


def _formatter(values):
    """A function that gives every one of `values` the same width."""
    if all(isinstance(v, (bool, int)) for v in values):
        style = str
    else:
        finite = [v for v in values if math.isfinite(v)]
        whole = all(v == math.ceil(v) for v in finite)
        if _scientific(finite, whole):
            form = f"{{:.{options.precision}e}}".format
        elif whole:
            form = "{:.0f}.".format
        else:
            form = f"{{:.{options.precision}f}}".format

        def style(v):
            return form(v) if math.isfinite(v) else str(v)

    # As PyTorch: what is not finite is as wide as it is, and moves nothing else.
    lined_up = values if style is str else [v for v in finite if v]
    width = max((len(style(v)) for v in lined_up), default=0)
    return lambda v: style(v).rjust(width)


def _complex_formatter(values):
    real, imag = _formatter([v.real for v in values]), _formatter([abs(v.imag) for v in values])

    def style(v):
        sign = "-" if math.copysign(1, v.imag) < 0 else "+"
        return f"{real(v.real)}{sign}{imag(abs(v.imag)).strip()}j"

    return style


def _complex_width(values):
    """Columns of an element in a line, as PyTorch counts: two numbers with their signs, two more, one of whole numbers."""
    parts = [v.real for v in values], [v.imag for v in values]
    whole = all(v == math.ceil(v) for part in parts for v in part if math.isfinite(v))
    return sum(max(map(len, map(_formatter(part), part)), default=0) for part in parts) + 2 + whole


_DOTS = object()


def _summary(tensor, summarise):
    """Nested lists of the elements that are shown, with `_DOTS` where some are left out."""
    if tensor.dim() == 0:
        return tensor.item()
    n, edge = tensor.size(0), options.edgeitems
    if summarise and n > 2 * edge:
        head = [_summary(tensor[i], summarise) for i in range(edge)]
        return [*head, _DOTS, *(_summary(tensor[i], summarise) for i in range(n - edge, n))]
    if not summarise or tensor.dim() == 1:
        return tensor.tolist()
    return [_summary(tensor[i], summarise) for i in range(n)]


def _flat(nested):
    if isinstance(nested, list):
        for item in nested:
            yield from _flat(item)
    elif nested is not _DOTS:
        yield nested


def _layout(nested, indent, form, width=None):
    """The bracketed text; `indent` is the column where it starts, `width` what an element takes of a line."""
    if not isinstance(nested, list):
        return form(nested)
    if not any(isinstance(item, list) for item in nested):
        words = [" ..." if item is _DOTS else form(item) for item in nested]
        width = width or max((len(word) for word in words), default=0) + 2
        per_line = max(1, (options.linewidth - indent) // width)
        lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    depth = 0
    inner = next(item for item in nested if isinstance(item, list))
    while isinstance(inner, list):
        depth += 1
        inner = next((item for item in inner if item is not _DOTS), None)
    blocks = ["..." if item is _DOTS else _layout(item, indent + 1, form, width) for item in nested]
    return "[" + ("," + "\n" * depth + " " * (indent + 1)).join(blocks) + "]"


def _contents(tensor, indent):
    nested = _summary(tensor, tensor.numel() > options.threshold)
    values = list(_flat(nested))
    if not tensor.is_complex():
        return _layout(nested, indent, _formatter(values))
    return _layout(nested, indent, _complex_formatter(values), _complex_width(values))


#: functions from a tensor to its text, or to None, for tensors that are wrappers around others
wrappers: list[Any] = []


def _without_memory(tensor):
    if not _C._is_hollow(tensor):
        return None
    return f"{type(tensor).__name__}(..., size={tuple(tensor.shape)}, dtype={tensor.dtype}, device='{tensor.device}')"


wrappers.append(_without_memory)


def text(tensor: Tensor, contents: Any = None) -> Any:
    """What ``repr(tensor)`` says."""
    for wrapper in wrappers:
        if (found := wrapper(tensor)) is not None:
            return found
    kind = type(tensor).__name__
    head = "tensor(" if kind in ("Tensor", "Parameter") else kind + "("
    plain = tensor.detach() if tensor.requires_grad else tensor
    notes = []
    if tensor.device.type != "cpu" and not tensor.is_meta:
        notes.append(f"device='{tensor.device}'")
        plain = plain.cpu()
    if contents is not None:
        body = contents
    elif tensor.layout != _C.strided:
        return _sparse_text(tensor, plain, head, notes)
    elif tensor.is_meta:
        body = "..."
        notes += ["device='meta'", f"size={tuple(tensor.shape)}"]
    elif tensor.numel() == 0:
        body = "[]"
        if tensor.dim() != 1:
            notes.append(f"size={tuple(tensor.shape)}")
    else:
        body = _contents(plain, len(head))
    default = _C.get_default_dtype()
    usual = {default, default.to_complex(), _C.int64, _C.bool} if tensor.numel() and not tensor.is_meta else {default}
    if tensor.dtype not in usual:
        notes.append(f"dtype={tensor.dtype}")
    said = _with_notes(head + body, notes + _graph_note(tensor), len(head))
    is_parameter = (tensor._attributes or {}).get("_is_param")  # of a class of one's own: nn.Parameter
    return f"Parameter({said})" if is_parameter else said


def _graph_note(tensor):
    if not tensor.requires_grad:
        return []
    node = tensor.grad_fn
    return ["requires_grad=True" if node is None else f"grad_fn=<{node.name().rpartition('::')[2]}>"]


def _half(name, tensor, indent):
    """`indices=tensor([[0, 1]])`, with its size where there are no elements to tell it."""
    head = f"{name}=tensor("
    if tensor.is_meta:
        return f"{head}..., size={tuple(tensor.shape)})"
    if tensor.numel() == 0:
        return f"{head}[], size={tuple(tensor.shape)})"
    return head + _contents(tensor, indent + len(head)) + ")"


def _sparse_text(tensor, plain, head, notes):
    from .sparse import parts

    lines = [_half(name, part, len(head)) for name, part in parts(plain).items()]
    notes = [*notes, "device='meta'"] if tensor.is_meta else notes
    notes = [*notes, f"size={tuple(tensor.shape)}"]
    if tensor.is_sparse or not tensor.is_meta:
        notes.append(f"nnz={tensor._nnz()}")
    if tensor.dtype not in {_C.get_default_dtype(), _C.get_default_dtype().to_complex(), _C.int64, _C.bool}:
        notes.append(f"dtype={tensor.dtype}")
    notes.append(f"layout={tensor.layout}")
    notes += _graph_note(tensor)
    if tensor.is_sparse:  # a compressed one's notes go on behind its values
        lines.append(notes.pop(0))
    return _with_notes(head + (",\n" + " " * len(head)).join(lines), notes, len(head), 2 * (not tensor.is_sparse))


def _with_notes(body, notes, indent, spare=0):
    """Adds `, dtype=...` and so on, on a new line where the last one is full."""
    used = len(body) - body.rfind("\n") - 1 + spare
    for note in notes:
        if used + len(note) + 2 > options.linewidth:
            body += ",\n" + " " * indent + note
            used = indent + len(note)
        else:
            body += ", " + note
            used += len(note) + 2
    return body + ")"
