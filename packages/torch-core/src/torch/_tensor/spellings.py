"""Operators as methods and attributes that take their arguments in another form than the operator's row."""

import warnings

import torch._C as _C

from .._C import Tensor


def nonzero(input, *, out=None, as_tuple=False):
    """The positions of elements that are not zero, as rows; or with ``as_tuple`` one tensor a dim, which can index.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    if not as_tuple:
        return _C._operator("nonzero")(input, out=out)
    if out is not None:
        raise RuntimeError(
            "nonzero: out= is one tensor, and as_tuple=True gives one for each dim; leave one of them away"
        )
    return _C._operator("nonzero_tuple")(input)


class _Volatile:
    """What switched recording off before 0.4; reading it says that this is over, and False."""

    def __get__(self, tensor, kind=None):
        if tensor is None:
            return self
        self._warn()
        return False

    def __set__(self, tensor, value):
        self._warn()

    def _warn(self):
        from warnings import warn

        warn("volatile was removed (it is always False); use `with torch.no_grad():` instead.", stacklevel=3)


class Spellings:
    """Methods of Tensor."""

    nonzero = nonzero

    def index(self, indices):
        """``self[indices]``, with None for dims that are taken whole.

        >>> torch.tensor([[1, 2], [3, 4]]).index((None, torch.tensor([1, 0])))
        tensor([[2, 1],
                [4, 3]])
        """
        if isinstance(indices, Tensor):
            return self[indices]
        return self[tuple(slice(None) if i is None else i for i in indices)]

    def where(self, condition, other):
        """``torch.where(condition, self, other)``.

        >>> x = torch.tensor([1.0, -1.0])
        >>> x.where(x > 0, torch.zeros(2))
        tensor([1., 0.])
        """
        return _C._operator("where")(condition, self, other)

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """The values that occur, in order; on request where each went, and how often it occurs.

        >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
        from .._operators.unique import unique

        return unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        from .._operators.unique import unique_consecutive

        return unique_consecutive(self, return_inverse, return_counts, dim)

    @property
    def mT(self):
        """The matrices transposed; RuntimeError for a vector. A number's is deprecated."""
        if self.dim() == 0:
            _of_number(self, "mT", "This function is the identity in these cases.")
        return _C._operator("mT")(self)

    @property
    def H(self):
        """The conjugate of a matrix transposed; RuntimeError for other tensors than matrices. A number's is deprecated."""
        dims = self.dim()
        if dims == 0:
            _of_number(self, "H", "Consider using x.conj().")
            return self.conj()
        if dims != 2:
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {dims}-D tensor.")
        return self.adjoint()

    @property
    def mH(self):
        """The conjugate of the matrices transposed; RuntimeError for a vector. A number's is deprecated."""
        dims = self.dim()
        if dims == 0:
            _of_number(self, "mH", "Consider using x.conj().")
            return self.conj()
        if dims == 1:
            raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
        return self.adjoint()

    def __rdiv__(self, other):
        """``other / self``, as Python 2 called it.

        >>> torch.tensor([2.0]).__rdiv__(3)
        tensor([1.5000])
        """
        return other / self

    def __idiv__(self, other):
        """``self /= other``, as Python 2 called it.

        >>> torch.tensor([3.0]).__idiv__(2)
        tensor([1.5000])
        """
        return self.div_(other)

    def reinforce(self, reward):
        """Removed in 0.4; the error says what to do instead.

        >>> torch.ones(1).reinforce(1.0)
        Traceback (most recent call last):
            ...
        RuntimeError: reinforce() was removed in 0.4: call backward() on -log_prob...
        """
        raise RuntimeError("reinforce() was removed in 0.4: call backward() on -log_prob(sample) * reward instead")

    volatile = _Volatile()


def _of_number(self, name, advice):
    """What transposes a matrix leaves a number alone, with a warning."""
    warnings.warn(f"Tensor.{name} is deprecated on 0-D tensors. {advice}", stacklevel=3)


def spectral(name):
    def transform(self, signal_ndim, normalized=False, **kwargs):
        from .._compat import fft

        return getattr(fft, name)(self, signal_ndim, normalized, **kwargs)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = (
        f"The transform of 2018: ``torch.{name}(self, signal_ndim)`` over pairs in a last dim of 2.\n\n"
        f">>> torch.ones(4, 2).{name}(1).dim()\n{1 if name == 'irfft' else 3 if name == 'rfft' else 2}\n"
    )
    return transform


def writes_part(part):
    """What an assignment to the real or imaginary part does: numbers and tensors that broadcast to it."""

    def write(self, value):
        part(self)[...] = value

    return write


def answers_false(name, doc):
    def answer(self, *args):
        return False

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = doc
    return answer
