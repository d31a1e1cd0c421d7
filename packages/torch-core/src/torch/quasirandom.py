"""Points that fill a cube evenly: Sobol' sequences.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
projections", SIAM J. Sci. Comput. 30 (2008), as SciPy ships them.
"""

import torch

__all__ = ["SobolEngine"]


def _joe_kuo(dimension):
    """Primitive polynomials over two elements, as bits, and the first direction numbers of each dimension."""
    import os
    from importlib.util import find_spec

    scipy = find_spec("scipy")
    if scipy is None or find_spec("numpy") is None:
        raise NotImplementedError("SobolEngine: the table of direction numbers comes with SciPy: pip install scipy")
    import numpy

    for folder in scipy.submodule_search_locations:
        path = os.path.join(folder, "stats", "_sobol_direction_numbers.npz")
        if os.path.exists(path):
            with numpy.load(path) as table:
                return table["poly"][:dimension].tolist(), table["vinit"][:dimension].tolist()
    raise NotImplementedError(f"SobolEngine: this SciPy has no table of direction numbers in {folder}")


def _directions(dimension, bits):
    """The direction numbers of each dimension (dimension, bits), as whole numbers below ``2 ** bits``."""
    polynomials, first = _joe_kuo(dimension)
    rows = [[1 << (bits - 1 - j) for j in range(bits)]]
    for polynomial, begin in zip(polynomials[1:], first[1:], strict=True):
        degree = polynomial.bit_length() - 1
        m = list(begin[:degree])
        for j in range(degree, bits):  # Joe and Kuo, equation (2)
            value = m[j - degree] ^ (m[j - degree] << degree)
            for k in range(1, degree):
                if polynomial >> (degree - k) & 1:
                    value ^= m[j - k] << k
            m.append(value)
        rows.append([number << (bits - 1 - j) for j, number in enumerate(m)])
    return torch.tensor(rows, dtype=torch.int64)


class SobolEngine:
    """The points of a Sobol' sequence in [0, 1)^dimension, one after another.

    ``scramble=True`` multiplies the digits by random triangular matrices and shifts them, so that the points are uniform
    and as even (Owen 1998; Matousek 1998); ``seed`` makes the choice repeatable. Raises ValueError for a dimension out of
    1 to 21201, NotImplementedError where SciPy, which has the table, is not installed.

    >>> torch.quasirandom.SobolEngine(2).draw(4).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """

    MAXBIT, MAXDIM = 30, 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], got {dimension}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        cpu = torch.device("cpu")
        with cpu:
            self.sobolstate = _directions(dimension, self.MAXBIT)
            self.shift = torch.zeros(dimension, dtype=torch.int64)
            if scramble:
                self._scramble()
        self.num_generated = 0

    def _scramble(self):
        bits = self.MAXBIT
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        places = 1 << torch.arange(bits - 1, -1, -1)
        shift = torch.randint(2, (self.dimension, bits), generator=generator)
        self.shift = (shift * places).sum(1)
        # A lower triangular matrix with ones on the diagonal for each dimension, applied to the digits of every number.
        matrices = torch.randint(2, (self.dimension, bits, bits), generator=generator).tril(-1) + torch.eye(
            bits, dtype=torch.int64
        )
        digits = (self.sobolstate.unsqueeze(-1) >> torch.arange(bits - 1, -1, -1)) & 1  # (dimension, number, digit)
        mixed = torch.einsum("dij,dnj->dni", matrices.double(), digits.double()).long() & 1
        self.sobolstate = (mixed * places).sum(-1)

    def _points(self, start, n):
        """Points ``start`` to ``start + n`` as whole numbers: the direction numbers of the bits of the Gray code."""
        index = torch.arange(start, start + n)
        gray = index ^ (index >> 1)
        points = self.shift.expand(n, -1).clone()
        for bit in range(max(1, (start + n).bit_length())):
            points ^= ((gray >> bit) & 1).unsqueeze(1) * self.sobolstate[:, bit]
        return points

    @property
    def quasi(self):
        """The point that was drawn last, or the first one, as whole numbers below ``2 ** MAXBIT``."""
        with torch.device("cpu"):
            return self._points(max(0, self.num_generated - 1), 1)[0]

    def draw(self, n=1, out=None, dtype=None):
        """The next ``n`` points: (n, dimension), of the default dtype unless said."""
        if self.num_generated + n > 1 << self.MAXBIT:
            raise ValueError(
                f"SobolEngine.draw: the sequence has {1 << self.MAXBIT} points, asked for {self.num_generated + n}"
            )
        dtype = torch.get_default_dtype() if dtype is None else dtype
        with torch.device("cpu"):
            points = self._points(self.num_generated, n).to(dtype) / 2**self.MAXBIT
        self.num_generated += n
        return points if out is None else out.resize_(points.shape).copy_(points)

    def draw_base2(self, m, out=None, dtype=None):
        """The next ``2 ** m`` points. ValueError unless as many as were drawn are, with these, a power of two."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out=out, dtype=dtype)

    def reset(self):
        """Begin anew."""
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leave out the next ``n`` points."""
        self.num_generated += n
        return self

    def __repr__(self):
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"SobolEngine({', '.join(parts)})"
