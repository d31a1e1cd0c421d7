"""What stands for the contents of a module that is not packed: it may be imported and passed on, and says so when used.

This file is written into every archive with a mocked module; `MockedObject` there is this class.
"""


class MockedObject:
    """Anything that was taken from a mocked module."""

    def __new__(cls, *args, _suppress_err=False, **kwargs):
        if not _suppress_err:  # a class is derived from it, or an object made
            raise NotImplementedError(
                f"{cls.__name__}: {_reason(cls._name if hasattr(cls, '_name') else cls.__name__)}"
            )
        return super().__new__(cls)

    def __init__(self, name, _suppress_err=False):
        self.__dict__["_name"] = name

    def __repr__(self):
        return f"MockedObject({self._name})"


def _reason(name):
    return (
        f"Object '{name}' was mocked out during packaging, but it is being used: intern or extern its module when the "
        "package is made"
    )


def _refuse(method):
    def used(self, *args, **kwargs):
        raise NotImplementedError(f"{method}: {_reason(self._name)}")

    return used


# Whatever numbers, containers, contexts and functions do.
_kinds = int, float, complex, list, dict, set, type(print)
_used = {name for kind in _kinds for name, value in vars(kind).items() if callable(value)}
_used |= {
    "__enter__",
    "__exit__",
    "__matmul__",
    "__rmatmul__",
    "__copy__",
    "__deepcopy__",
    "__setattr__",
    "__getattr__",
}
for _method in _used - {"__new__", "__init__", "__repr__", "__getattribute__"}:
    if _method.startswith("__"):
        setattr(MockedObject, _method, _refuse(_method))
