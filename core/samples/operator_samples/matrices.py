"""Linear algebra: matrices that are regular, symmetric or triangular. Their gradients, which keep them so, are tested in
torch-autograd's test_linalg.py."""

import torch

from .source import call

PIVOTS = torch.tensor([1, 2, 3], dtype=torch.int32)

CALLS = {
    "lu_factor_ex": [lambda t: call(t.regular(3)), lambda t: call(t.regular(3, 2))],
    "inv_ex": [lambda t: call(t.regular(3))],
    "linalg_det": [lambda t: call(t.regular(3)), lambda t: call(t.regular(2, 2))],
    "linalg_slogdet": [lambda t: call(t.regular(3))],
    "_linalg_solve": [lambda t: call(t.regular(3), t(3, 2), True)],
    "solve_triangular": [lambda t: call(t.regular(3), t(3, 2), upper=True)],
    "cholesky_ex": [lambda t: call(t.symmetric(3)), lambda t: call(t.symmetric(2, 2))],
    "cholesky_solve": [lambda t: call(t(3, 2), t.regular(3))],
    "cholesky_inverse": [lambda t: call(t.regular(3))],
    "_linalg_svd": [lambda t: call(t.symmetric(3), False, True)],
    "_linalg_eigh": [lambda t: call(t.symmetric(3), "L", True)],
    "linalg_eig": [lambda t: call(t.symmetric(3))],
    "linalg_qr": [lambda t: call(t.regular(3))],
    "householder_product": [lambda t: call(t(4, 3), t.positive(3))],
    "ormqr": [lambda t: call(t(4, 3), t.positive(3), t(4, 2))],
    "pinv": [lambda t: call(t.regular(3))],
    "lstsq": [lambda t: call(t(4, 3), t(4, 2), driver="gelsd")],  # by default devices have others
    "_linalg_lstsq": [lambda t: call(t(4, 3), t(4, 2), 1e-6, "gelsd")],
    "linalg_matrix_exp": [lambda t: call(t(3, 3))],
    "linalg_lu_solve": [lambda t: call(t.regular(3), PIVOTS, t(3, 2))],
    "lu_solve": [lambda t: call(t(3, 2), t.regular(3), PIVOTS)],
    "_lu_permutation": [lambda t: call(PIVOTS, 3)],
    "ldl_solve": [lambda t: call(t.regular(3), PIVOTS, t(3, 2))],
}
