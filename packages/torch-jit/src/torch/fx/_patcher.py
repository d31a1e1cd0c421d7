"""Traces that libraries write themselves: while a ``_Patcher`` lasts, torch records, and so does what is replaced through it."""

from ._patches import patched
from ._tracing import _patch_global
from ._wrap import _create_wrapped_method, _wrapped_fns_to_patch, _wrapped_methods_to_patch

__all__ = ["_Patcher", "_patch_wrapped_functions"]

_ABSENT, _MARK = object(), "__fx_already_patched"


class _Patcher:
    """Replacements of methods and globals that are put back in the end, the last one first.

    >>> class Greeting:
    ...     def text(self):
    ...         return "hello"
    >>> with _Patcher() as patcher:
    ...     patcher.patch_method(Greeting, "text", lambda self: "good-bye")
    ...     Greeting().text()
    'good-bye'
    >>> Greeting().text()
    'hello'
    """

    def __init__(self):
        self._before, self.visited = [], set()

    def __enter__(self):
        self._patched = patched({})
        self._patches = self._patched.__enter__()
        return self

    def patch_method(self, cls, name, new_fn, deduplicate=True):
        """Replace a method of a class, for all others as well if ``deduplicate``: nothing takes its place then."""
        if getattr(getattr(cls, name), _MARK, False):
            return
        setattr(new_fn, _MARK, deduplicate)
        self._before.append((cls, name, vars(cls).get(name, _ABSENT)))
        setattr(cls, name, new_fn)

    def item(self, space, name, stand_in):
        """Replace a global."""
        self._patches.item(space, name, stand_in)

    def visit_once(self, thing):
        """Whether something is shown to this patcher for the first time."""
        known = id(thing) in self.visited
        self.visited.add(id(thing))
        return not known

    def __exit__(self, *error):
        while self._before:
            cls, name, before = self._before.pop()
            if before is _ABSENT:
                delattr(cls, name)
            else:
                setattr(cls, name, before)
        return self._patched.__exit__(None, None, None)


def _patch_wrapped_functions(patcher):
    """Make the functions and methods record that ``torch.fx.wrap`` has named."""
    for (_, name), space in list(_wrapped_fns_to_patch.items()):
        _patch_global(patcher, space, name)
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))
