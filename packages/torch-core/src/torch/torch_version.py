"""``torch.__version__`` as a string that compares as a version: with strings and with tuples of numbers.

>>> torch.torch_version.TorchVersion("2.10.0") > "2.9", torch.torch_version.TorchVersion("2.1.0") >= (2, 1)
(True, True)
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import __version__ as __version__  # put here by torch itself

__all__ = ["TorchVersion"]


def _key(version):
    """What versions are sorted by: numbers, then how far from the release, then the local part; None for other words."""
    import re

    form = (
        r"v?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|rc|alpha|beta)[-_.]?(\d*))?(?:[-_.]?post(\d*))?(?:[-_.]?dev(\d*))?(?:\+(.*))?$"
    )
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    found = re.match(form, str.__str__(version).strip().lower()) if isinstance(version, str) else None
    if found is None:
        return None
    release, phase, number, post, dev, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    if phase:
        stage = (0, phase[0], int(number or 0))
    else:
        stage = (-1, "", 0) if dev is not None and post is None else (1, "", 0)
    return numbers, stage, -1 if post is None else int(post or 0), dev is None, local or ""


class TorchVersion(str):
    """A version that is a string, and compares with strings and tuples by its numbers."""

    __slots__ = ()

    def _compare(self, other):
        mine, theirs = _key(self), _key(other)
        if theirs is None and not isinstance(other, str):
            raise TypeError(f"a version compares with strings and tuples, not with {type(other).__name__}")
        if mine is None or theirs is None:
            mine, theirs = str.__str__(self), str.__str__(other)
        return (mine > theirs) - (mine < theirs)

    def __gt__(self, other):
        return self._compare(other) > 0

    def __ge__(self, other):
        return self._compare(other) >= 0

    def __lt__(self, other):
        return self._compare(other) < 0

    def __le__(self, other):
        return self._compare(other) <= 0

    def __eq__(self, other):
        return isinstance(other, (str, tuple, list)) and self._compare(other) == 0

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
