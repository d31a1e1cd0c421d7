"""torch.signal.windows against SciPy."""

import pytest
import torch

scipy_windows = pytest.importorskip("scipy.signal.windows")
windows = torch.signal.windows

CASES = [
    ("bartlett", {}, {}), ("blackman", {}, {}), ("cosine", {}, {}), ("exponential", {"tau": 2.0}, {"tau": 2.0}),
    ("gaussian", {"std": 1.5}, {"std": 1.5}), ("general_cosine", {"a": [0.5, 0.4, 0.1]}, {"a": [0.5, 0.4, 0.1]}),
    ("general_hamming", {"alpha": 0.7}, {"alpha": 0.7}), ("hamming", {}, {}), ("hann", {}, {}),
    ("kaiser", {"beta": 8.0}, {"beta": 8.0}), ("nuttall", {}, {}),
]  # fmt: skip


@pytest.mark.parametrize("name, ours, theirs", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 16])
def test_windows_agree_with_scipy(name, ours, theirs, sym, size):
    want = getattr(scipy_windows, name)(size, sym=sym, **theirs).tolist()
    got = getattr(windows, name)(size, sym=sym, dtype=torch.float64, **ours)
    assert got.tolist() == pytest.approx(want, abs=1e-14)
    assert getattr(windows, name)(size, sym=sym, **ours).equal(got.float())


def test_a_centre_of_ones_own():
    want = scipy_windows.exponential(5, center=1, tau=1.0, sym=False).tolist()
    assert windows.exponential(5, center=1, sym=False).tolist() == pytest.approx(want)


def test_a_window_may_be_a_leaf():
    pytest.importorskip("torch.autograd")
    assert windows.hann(3, requires_grad=True).requires_grad


@pytest.mark.parametrize("name, keywords", [(c[0], c[1]) for c in CASES], ids=[c[0] for c in CASES])
def test_errors_name_the_window(name, keywords):
    window = getattr(windows, name)
    with pytest.raises(ValueError, match=f"{name} requires non-negative window length, got M=-1"):
        window(-1, **keywords)
    with pytest.raises(ValueError, match=f"{name} expects float32 or float64 dtypes, got: torch.float16"):
        window(3, dtype=torch.float16, **keywords)
    with pytest.raises(ValueError, match=f"{name} is implemented for strided tensors only, got: torch.sparse_coo"):
        window(3, layout=torch.sparse_coo, **keywords)
    with pytest.raises(TypeError, match="M must be an int, got float"):
        window(2.5, **keywords)


def test_wrong_shapes_of_windows_are_refused():
    for call, text in [
        (lambda: windows.exponential(3, tau=0.0), "tau must be positive, got 0.0"),
        (lambda: windows.exponential(3, center=1), "center must be None for symmetric windows, got 1"),
        (lambda: windows.gaussian(3, std=0.0), "std must be positive, got 0.0"),
        (lambda: windows.kaiser(3, beta=-1.0), "beta must be non-negative, got -1.0"),
        (lambda: windows.general_cosine(3, a=[]), "a cannot be empty"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="a must be a list or tuple, got int"):
        windows.general_cosine(3, a=3)


def test_the_length_may_be_an_integer_tensor():
    assert windows.hann(torch.tensor(5)).equal(windows.hann(5))
    assert windows.hann(torch.tensor(1.0)).tolist() == [1] and windows.hann(0.0).tolist() == []
    with pytest.raises(TypeError, match=r"hann: the window length M must be an int, got Tensor \(tensor\(5\.\)\)"):
        windows.hann(torch.tensor(5.0))
