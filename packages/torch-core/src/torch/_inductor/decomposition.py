"""Operators that a compiler replaces by simpler ones: noted for whoever asks, since nothing here needs them replaced."""

#: what libraries have registered, by operator
decompositions: dict = {}


def register_decomposition(ops):
    """A decorator that notes a function as the simpler form of an operator, or of several.

    >>> from torch._inductor.decomposition import decompositions, register_decomposition
    >>> @register_decomposition([torch.ops.aten.square])
    ... def square(x):
    ...     return x * x
    >>> decompositions[torch.ops.aten.square] is square
    True
    """

    def note(function):
        decompositions.update(dict.fromkeys(ops if isinstance(ops, (list, tuple)) else [ops], function))
        return function

    return note
