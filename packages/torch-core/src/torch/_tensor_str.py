"""How tensors print, under the names of PyTorch's own module: classes of tensors build their text of them."""

from . import _printing
from ._printing import printoptions, set_printoptions

__all__ = ["PRINT_OPTS", "printoptions", "set_printoptions"]


class _Current:
    """The settings in force; assignments change them."""

    def __getattr__(self, name):
        try:
            return getattr(_printing.options, name)
        except AttributeError:
            raise AttributeError(
                f"print options have no {name!r}; there are {', '.join(vars(_printing.options))}"
            ) from None

    def __setattr__(self, name, value):
        getattr(self, name)
        set_printoptions(**{"sci_mode": self.sci_mode, name: value})

    def __repr__(self):
        return repr(_printing.options)


PRINT_OPTS = _Current()


def _str(self, *, tensor_contents=None):
    """What ``repr(tensor)`` says, with other contents if given."""
    return _printing.text(self, tensor_contents)


_str_intern = _str


def _tensor_str(self, indent):
    """The numbers of a tensor in brackets, indented from the second line on.

    >>> from torch._tensor_str import _tensor_str
    >>> _tensor_str(torch.tensor([[1.5, 2], [3, 4]]), 1)
    '[[1.5000, 2.0000],\\n  [3.0000, 4.0000]]'
    """
    if self.numel() == 0:
        return "[]"
    return _printing._contents(self.detach(), indent)


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """The text of a tensor with its notes, on a new line where the last one is full, and a closing parenthesis."""
    if force_newline and suffixes:
        first, *suffixes = suffixes
        tensor_str += ",\n" + " " * indent + first
    return _printing._with_notes(tensor_str, suffixes, indent)
