"""Comprehensions on the tape."""

import pytest
import torch
import torch.tc as tc

pytest.importorskip("halide")
pytest.importorskip("torch.autograd")

CONVOLUTION = """
def convolution(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {
    O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * W1(m, c, kh, kw)
}
def convolution_grad(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(N,M,OH,OW) O_grad) -> (I_grad, W1_grad) {
    I_grad(n, c, h, w) +=! (h >= kh && h - kh < OH && w >= kw && w - kw < OW) ? O_grad(n, m, h - kh, w - kw) * W1(m, c, kh, kw) : 0
        where h in 0:H, w in 0:W
    W1_grad(m, c, kh, kw) +=! O_grad(n, m, h, w) * I(n, c, h + kh, w + kw) where kh in 0:KH, kw in 0:KW
}
"""


def leaf(*shape):
    return (torch.rand(*shape) - 0.5).requires_grad_()


def test_gradients_come_from_the_backward_definition():
    unit = tc.define(CONVOLUTION, name="convolution", training=True, backward="convolution_grad")
    x, w = leaf(2, 3, 8, 9), leaf(4, 3, 3, 2)
    grad = torch.rand(2, 4, 6, 8)
    expected = torch.autograd.grad(torch.conv2d(x, w), (x, w), grad)
    found = torch.autograd.grad(unit(x, w), (x, w), grad)
    for a, b in zip(found, expected, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    unit(x, w.detach(), options=["naive", "mlp"]).sum().backward()
    assert w.grad is None and x.grad.shape == x.shape


def test_the_example_of_2018_with_kernels_of_one():
    text = """
    def convolution(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {{
        O(n, m, h, w) +=! I(n, c, {sh} * h + kh, {sw} * w + kw) * W1(m, c, kh, kw)
    }}
    def convolution_grad(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(N,M,H,W) O_grad) -> (I_grad, W1_grad) {{
        I_grad(n, c, h, w) +=! O_grad(n, m, {sh} * h - kh, {sw} * w - kw) * W1(m, c, kh, kw)
        W1_grad(m, c, kh, kw) +=! O_grad(n, m, {sh} * h - kh, {sw} * w - kw) * I(n, c, h, w)
    }}
    """
    unit = tc.define(text, training=True, name="convolution", backward="convolution_grad", constants={"sh": 1, "sw": 1})
    x, w = leaf(2, 3, 8, 9), leaf(4, 3, 1, 1)
    out = unit(x, w)
    assert torch.allclose(out, torch.conv2d(x, w), atol=1e-5)
    out[0].sum().backward()
    expected = torch.autograd.grad(torch.conv2d(x, w)[0].sum(), (x, w))
    assert torch.allclose(x.grad, expected[0], atol=1e-5) and torch.allclose(w.grad, expected[1], atol=1e-4)


SOFTMAX = """
def softmax(double(N,D) I) -> (O) {
    m(n) max=! I(n, d)
    E(n, d) = exp(I(n, d) - m(n))
    s(n) +=! E(n, d)
    O(n, d) = E(n, d) / s(n)
}
def softmax_grad(double(N,D) I, double(N,D) O, double(N,D) O_grad) -> (I_grad) {
    t(n) +=! O(n, d) * O_grad(n, d)
    I_grad(n, d) = O(n, d) * (O_grad(n, d) - t(n))
}
"""


def test_a_backward_definition_may_take_the_results():
    unit = tc.define(SOFTMAX, name="softmax", training=True, backward="softmax_grad")
    x = torch.rand(4, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(unit, x)


def test_gradients_by_name_of_a_part_of_the_parameters():
    text = """
    def scale(float(N) A, float(N) B, int32(N) K) -> (o, k) { o(i) = A(i) * B(i) k(i) = K(i) }
    def grads(float(N) A, float(N) B, int32(N) K, float(N) g, int32(N) gk) -> (B_grad) { B_grad(i) = g(i) * A(i) }
    """
    unit = tc.define(text, name="scale", training=True, backward="grads")
    a, b, k = torch.rand(5), leaf(5), torch.zeros(5, dtype=torch.int32)
    o, whole = unit(a, b, k)
    assert not whole.requires_grad
    o.sum().backward()
    assert torch.equal(b.grad, a)
    with pytest.raises(RuntimeError, match="grads: no gradient of A, which needs one"):
        unit(leaf(5), b, k)[0].sum().backward()


def test_gradients_that_cannot_be_had_are_named():
    plain = tc.define("def f(float(N) A) -> (o) { o(i) = A(i) }")
    x = leaf(3)
    with pytest.raises(
        RuntimeError, match="f: an argument needs gradients, and there is no definition of them: pass training=True"
    ):
        plain(x)
    with torch.no_grad():
        assert torch.equal(plain(x), x)
    unit = tc.define(SOFTMAX, name="softmax", training=True, backward="softmax_grad")
    x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="outputs= gives no gradients"):
        unit(x, outputs=torch.zeros(2, 3).double())
    (grad,) = torch.autograd.grad(unit(x).pow(2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError):
        grad.sum().backward()


def test_a_backward_definition_that_does_not_fit_is_shown():
    text = "def f(float(N) A) -> (o) { o(i) = A(i) } def g(float(N) A) -> (d) { d(i) = A(i) }"
    with pytest.raises(
        tc.CompilationError, match="g takes 1 parameters; expected the 1 of f, then the gradients of its 1 results"
    ):
        tc.define(text, name="f", training=True, backward="g")
    with pytest.raises(ValueError, match="training=True needs backward="):
        tc.define(text, name="f", training=True)
    many = (
        "def f(float(N) A) -> (o) { o(i) = A(i) } def g(float(N) A, float(N) B) -> (d, e) { d(i) = A(i) e(i) = B(i) }"
    )
    with pytest.raises(tc.CompilationError, match="g returns 2 gradients of 1 parameters"):
        tc.define(many, name="f", training=True, backward="g")


def test_a_write_to_outputs_is_seen_by_the_tape():
    unit = tc.define("def f(float(N) A) -> (o) { o(i) = A(i) }")
    x, c = leaf(3), torch.ones(3)
    y = x * c
    unit(torch.zeros(3), outputs=c)
    with pytest.raises(RuntimeError, match="modified|version|in place|in-place"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="f: outputs that need gradients cannot be written to"):
        unit(torch.zeros(3), outputs=leaf(3))


def test_both_directions_are_tuned(capsys):
    unit = tc.define(CONVOLUTION, name="convolution", training=True, backward="convolution_grad")
    forward, backward = unit.autotune((1, 2, 5, 6), (3, 2, 2, 2), **tc.autotuner_settings | {"pop_size": 3})
    assert isinstance(forward, tc.MappingOptions) and isinstance(backward, tc.MappingOptions)
    assert "tc: convolution_grad: generation 2 of 2" in capsys.readouterr().err
    one = unit.autotune(
        (1, 2, 5, 6), (3, 2, 2, 2), (1, 3, 4, 5), type="backward", generations=1, pop_size=2, progress=False
    )
    assert isinstance(one, tc.MappingOptions)
    with pytest.raises(ValueError, match="type expected 'forward' or 'backward', got 'both'"):
        unit.autotune((1, 2, 5, 6), (3, 2, 2, 2), type="both")


def test_a_pair_of_functions_becomes_one_with_gradients():
    T = tc.TC(CONVOLUTION, tc.make_naive_options_factory())
    f = tc.make_autograd(T.convolution, T.convolution_grad)
    x, w = leaf(1, 2, 5, 6), leaf(3, 2, 2, 2)
    found = torch.autograd.grad(f(x, w).sum(), (x, w))
    expected = torch.autograd.grad(torch.conv2d(x, w).sum(), (x, w))
    for a, b in zip(found, expected, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
