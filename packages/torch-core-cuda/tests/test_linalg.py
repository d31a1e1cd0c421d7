"""Linear algebra: the CPU's LAPACK, by copies that wait; results come back to the device."""

import pytest
import torch
from torch._cuda import _native
from torch.linalg import LinAlgError

torch.manual_seed(0)
A = torch.randn(2, 4, 4, dtype=torch.float64)
B = torch.randn(2, 4, 3, dtype=torch.float64)
S = A @ A.mT + torch.eye(4, dtype=torch.float64)

#: by name: what is computed of A, B and the positive definite S
COMPUTED = {
    "inverse": lambda a, b, s: torch.inverse(a),
    "det": lambda a, b, s: torch.det(a),
    "slogdet": lambda a, b, s: torch.slogdet(a),
    "solve": lambda a, b, s: torch.linalg.solve(a, b),
    "cholesky": lambda a, b, s: torch.linalg.cholesky(s),
    "qr": lambda a, b, s: torch.linalg.qr(b),
    "svd": lambda a, b, s: torch.linalg.svd(b, full_matrices=False),
    "eigh": lambda a, b, s: torch.linalg.eigh(s),
    "eigvals": lambda a, b, s: torch.linalg.eigvals(s),
    "lstsq": lambda a, b, s: torch.linalg.lstsq(a, b, driver="gelsd"),
    "pinv": lambda a, b, s: torch.linalg.pinv(b),
    "matrix_exp": lambda a, b, s: torch.matrix_exp(a),
    "lu": lambda a, b, s: torch.linalg.lu(a),
    "cond": lambda a, b, s: torch.linalg.cond(s),
    "matrix_rank": lambda a, b, s: torch.linalg.matrix_rank(b),
    "nuclear norm": lambda a, b, s: torch.linalg.norm(b[0], "nuc"),
    "strided": lambda a, b, s: torch.linalg.solve(a.mT, b.flip(1)),
    "complex": lambda a, b, s: torch.linalg.inv(torch.complex(a, s)),
    "float": lambda a, b, s: torch.linalg.inv(s.float()),
    "empty": lambda a, b, s: torch.linalg.inv(a[:0]),
}


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", COMPUTED)
def test_results_are_those_of_the_cpu(name):
    f = COMPUTED[name]
    here, there = parts(f(A, B, S)), parts(f(A.cuda(), B.cuda(), S.cuda()))
    for expected, got in zip(here, there, strict=True):
        assert got.is_cuda and got.shape == expected.shape and got.dtype == expected.dtype
        assert got.stride() == expected.stride() or got.numel() == 0
        assert torch.equal(got.cpu(), expected)


def test_it_waits():
    _native.configure(lazy=True)
    a = A.cuda() + 1
    before = _native.counts()["waits"]
    torch.linalg.inv_ex(a)
    assert _native.counts()["waits"] > before


def test_a_singular_matrix_is_told_at_once_and_the_device_goes_on():
    singular = torch.zeros(3, 3, device="cuda")
    with pytest.raises(LinAlgError, match="linalg.inv: the matrix is singular"):
        torch.linalg.inv(singular)
    with pytest.raises(LinAlgError, match="not positive"):
        torch.linalg.cholesky(-torch.eye(2, device="cuda"))
    assert (singular + 1).sum().item() == 9


def test_matrices_of_two_devices_are_refused():
    with pytest.raises(RuntimeError, match="cuda:0.*cpu|cpu.*cuda:0"):
        torch.linalg.solve(A.cuda(), B)


def test_the_driver_of_least_squares_is_that_of_pytorch_there():
    a, b = A.cuda(), B.cuda()
    found, expected = torch.linalg.lstsq(a, b), torch.linalg.lstsq(a, b, driver="gels")
    assert torch.equal(found.solution, expected.solution) and found.rank.numel() == 0
    assert torch.linalg.lstsq(A, B).rank.tolist() == [4, 4]


def test_half_types_are_refused_as_on_the_cpu():
    with pytest.raises(RuntimeError, match="Low precision dtypes not supported"):
        torch.linalg.inv(torch.eye(2, device="cuda", dtype=torch.float16))


@pytest.mark.parametrize("shape", [(), (5,), (0,)])
@pytest.mark.parametrize(
    "name", ["svdvals", "svd", "eigh", "eigvalsh", "eig", "eigvals", "cholesky", "qr", "inv", "det", "lu", "pinv"]
)
def test_what_is_no_matrix_is_refused_as_on_the_cpu(name, shape):
    said = []
    for device in ("cpu", "cuda"):
        with pytest.raises(RuntimeError) as raised:
            getattr(torch.linalg, name)(torch.ones(shape, device=device))
        said.append(str(raised.value))
    assert said[0] == said[1]
