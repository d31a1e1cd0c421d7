"""Python functions applied to elements one by one: slow, for a few numbers. On CPU tensors that need no gradient."""

from .. import _C


def _check(op, self, *others):
    for t in (self, *others):
        if not isinstance(t, _C.Tensor):
            raise TypeError(f"{op}: expected a Tensor, got {type(t).__name__}")
        if t.requires_grad:
            raise RuntimeError(f"{op}: a tensor that requires grad was given; detach() it first")
        if t.device.type != "cpu":
            raise TypeError(f"{op} is only implemented on CPU tensors, got one on {t.device}")
        if t.dtype != self.dtype:
            raise TypeError(f"{op}: expected argument of {self.dtype}, found {t.dtype}")


def _fill(self, values):
    for value in values:
        if isinstance(value, (str, bytes)):
            raise TypeError(f"expected numbers of the function, got {value!r}")
    return self.copy_(_C.tensor(values, dtype=self.dtype).reshape(self.shape))


def apply_(self, callable):
    """Replaces each element x by ``callable(x)``, in place."""
    _check("apply_", self)
    return _fill(self, [callable(x) for x in self.reshape(-1).tolist()])


def map_(self, tensor, callable):
    """Replaces each element x by ``callable(x, y)`` with the element y of another tensor, which is broadcast."""
    _check("map_", self, tensor)
    pairs = zip(self.reshape(-1).tolist(), tensor.expand_as(self).reshape(-1).tolist(), strict=True)
    return _fill(self, [callable(x, y) for x, y in pairs])


def map2_(self, x, y, callable):
    """Replaces each element a by ``callable(a, b, c)`` with the elements of two other tensors, which are broadcast."""
    _check("map2_", self, x, y)
    rows = (t.expand_as(self).reshape(-1).tolist() for t in (self, x, y))
    return _fill(self, [callable(*row) for row in zip(*rows, strict=True)])
