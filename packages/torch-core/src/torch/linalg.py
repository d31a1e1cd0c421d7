"""Linear algebra over batches of matrices. The operators' rows say that they belong here; LAPACK computes them.

>>> a = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
>>> torch.linalg.solve(a, torch.tensor([3.0, 4.0]))
tensor([1., 1.])
"""

from ._C import LinAlgError as LinAlgError
from ._C import _functions

globals().update(_functions().get("linalg", {}))
del _functions
