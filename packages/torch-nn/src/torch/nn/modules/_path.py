"""Which layer an error came out of: its path, its class, and what it was called with."""

from __future__ import annotations

from torch import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HAS_NOTES = hasattr(BaseException, "add_note")


def _append_to_text(error, note):
    """Python 3.10 shows no notes: there the layer stands in the line below an error's text."""
    text = error.args[0] if error.args else None
    if isinstance(text, str) and not isinstance(error, KeyError):
        error.args = (text.partition("\nwhile running ")[0] + "\n" + note, *error.args[1:])


def _given(value):
    """An argument of a layer in a few words: what errors are about is mostly the shapes."""
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        inside = ", ".join(_given(v) for v in value[:4]) + (", ..." if len(value) > 4 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__


def _call(args, kwargs):
    return ", ".join([*map(_given, args), *(f"{name}={_given(value)}" for name, value in kwargs.items())])


def name_layer(error: Exception, module: Any, args: Any, kwargs: Any) -> None:
    """Note on the error which layer it came out of, as the path from the outermost module that was called, and what that
    layer was called with."""
    inner = getattr(error, "_layer", None)
    if inner is None:
        described = f"{module._get_name()}({module.extra_repr()})" if not module._modules else module._get_name()
        try:
            described += f" called with ({_call(args, kwargs)})"
        except Exception:  # an argument that cannot even be described
            pass
        path, note = "", f"while running {described}"
        place = len(getattr(error, "__notes__", ()))
    else:
        module_below, path, described, place = inner
        name = next((name for name, child in module._modules.items() if child is module_below), None)
        if name is None:  # the module that failed hangs elsewhere, for instance in a plain list
            return
        path = f"{name}.{path}" if path else name
        note = f"while running layer {path!r} of {module._get_name()}: {described}"
    try:
        error._layer = (module, path, described, place)
        if not _HAS_NOTES:
            _append_to_text(error, note)
        elif inner is None:
            error.add_note(note)
        else:
            error.__notes__[place] = note
    except Exception:  # an exception class that takes no attributes keeps its own text
        pass
