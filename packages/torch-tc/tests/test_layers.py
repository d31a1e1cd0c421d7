"""The layers that the articles of 2018 wrote as comprehensions, against our operators."""

import pytest
import torch
import torch.tc as tc

pytest.importorskip("halide")


def rand(*shape):
    return torch.rand(*shape) - 0.5


def index(high, *shape):
    return torch.randint(0, high, shape, dtype=torch.int32)


def sampled(x, sizes):
    """Sliding windows of a tensor's last dims, by strides of one."""
    for d, n in enumerate(sizes):
        x = x.unfold(2 + d, n, 1)
    return x


def pool(x):
    return sampled(x, (2, 2))


def norm(x, dims, eps=1e-5):
    return (x - x.mean(dims, keepdim=True)) / (x.var(dims, unbiased=False, keepdim=True) + eps).sqrt()


def grouped(x, groups):
    n, c, h, w = x.shape
    return norm(x.reshape(n, groups, c // groups, h, w), (2, 3, 4)).reshape(n, c, h, w)


def kronecker(w0, w1, w2, x):
    return x @ torch.kron(torch.kron(w0, w1), w2).t()


LAYERS = {
    "matmul": (
        "def matmul(float(M,N) A, float(N,K) B) -> (output) { output(i, j) +=! A(i, kk) * B(kk, j) }",
        lambda: (rand(17, 12), rand(12, 21)),
        lambda a, b: a @ b,
    ),
    "tmm": (
        "def tmm(float(M,K) A, float(N,K) B) -> (C) { C(m, n) +=! A(m, kk) * B(n, kk) }",
        lambda: (rand(17, 12), rand(21, 12)),
        lambda a, b: a @ b.t(),
    ),
    "tbmm": (
        "def tbmm(float(B,N,M) X, float(B,K,M) Y) -> (Z) { Z(b, n, k) +=! X(b, n, m) * Y(b, k, m) }",
        lambda: (rand(3, 9, 12), rand(3, 10, 12)),
        lambda x, y: x @ y.transpose(1, 2),
    ),
    "fcrelu": (
        """def fcrelu(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1) {
            O1(b, n) +=! I(b, m) * W1(n, m)
            O1(b, n) = O1(b, n) + B1(n)
            O1(b, n) = fmax(O1(b, n), 0)
        }""",
        lambda: (rand(10, 18), rand(30, 18), rand(30)),
        lambda i, w, b: torch.relu(i @ w.t() + b),
    ),
    "mlp3": (
        """def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, float(Q) B4) -> (O2, O3, O4) {
            O2(b, o) +=! I(b, n) * W2(o, n)
            O2(b, o) = fmax(O2(b, o) + B2(o), 0)
            O3(b, p) +=! O2(b, o) * W3(p, o)
            O3(b, p) = fmax(O3(b, p) + B3(p), 0)
            O4(b, q) +=! O3(b, p) * W4(q, p)
            O4(b, q) = fmax(O4(b, q) + B4(q), 0)
        }""",
        lambda: (rand(5, 16), rand(12, 16), rand(12), rand(9, 12), rand(9), rand(2, 9), rand(2)),
        lambda i, w2, b2, w3, b3, w4, b4: (
            (h := torch.relu(i @ w2.t() + b2)),
            (g := torch.relu(h @ w3.t() + b3)),
            torch.relu(g @ w4.t() + b4),
        ),
    ),
    "conv1d": (
        "def conv1d(float(N,C,W) I, float(F,C,KW) K) -> (O) { O(n, f, w) +=! I(n, c, w + kw) * K(f, c, kw) }",
        lambda: (rand(2, 3, 19), rand(4, 3, 5)),
        torch.conv1d,
    ),
    "convolution": (
        """def convolution(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(M) B) -> (O) {
            O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * W1(m, c, kh, kw)
            O(n, m, h, w) = O(n, m, h, w) + B(m)
        }""",
        lambda: (rand(2, 3, 9, 11), rand(4, 3, 3, 2), rand(4)),
        torch.conv2d,
    ),
    "conv3d": (
        """def conv3d(float(N,C,D,H,W) I, float(F,C,KD,KH,KW) K) -> (O) {
            O(n, f, d, h, w) +=! I(n, c, d + kd, h + kh, w + kw) * K(f, c, kd, kh, kw)
        }""",
        lambda: (rand(1, 2, 5, 6, 7), rand(3, 2, 2, 3, 2)),
        torch.conv3d,
    ),
    "convolution_strided": (
        """def convolution_strided(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {{
            O(n, m, h, w) +=! I(n, c, {sh} * h + kh, {sw} * w + kw) * W1(m, c, kh, kw)
        }}""",
        lambda: (rand(2, 3, 12, 11), rand(4, 3, 3, 2)),
        lambda i, w: torch.conv2d(i, w, stride=(2, 3)),
        {"sh": 2, "sw": 3},
    ),
    "group_convolution": (
        """def group_convolution(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1, float(G,F) B) -> (O) {
            O(n, g, f, h, w) +=! I(n, g, c, h + kh, w + kw) * W1(g, f, c, kh, kw)
            O(n, g, f, h, w) = O(n, g, f, h, w) + B(g, f)
        }""",
        lambda: (rand(2, 3, 2, 7, 8), rand(3, 4, 2, 3, 3), rand(3, 4)),
        lambda i, w, b: torch.conv2d(i.flatten(1, 2), w.flatten(0, 1), b.flatten(), groups=3).reshape(2, 3, 4, 5, 6),
    ),
    "group_normalization": (
        """def group_normalization(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta) -> (O, mean, var) {{
            mean(n, g) +=! I(n, g, r_d, r_h, r_w)
            mean(n, g) = mean(n, g) / (D * H * W)
            var(n, g) +=! pow(fabs(I(n, g, r_d, r_h, r_w) - mean(n, g)), 2.0)
            var(n, g) = var(n, g) / (D * H * W)
            O(n, g, d, h, w) = gamma(g, d) * (I(n, g, d, h, w) - mean(n, g)) * rsqrt(var(n, g) + {eps}) + beta(g, d)
        }}""",
        lambda: (rand(2, 3, 4, 5, 6), rand(3, 4), rand(3, 4)),
        lambda i, g, b: (
            grouped(i.flatten(1, 2), 3).reshape(i.shape) * g[..., None, None] + b[..., None, None],
            i.mean((2, 3, 4)),
            i.var((2, 3, 4), unbiased=False),
        ),
        {"eps": 1e-5},
    ),
    "batchnorm": (
        """def batchnorm(float(N,C,H,W) I, float(C) rMeanIn, float(C) rVarIn) -> (O, rMeanOut, rVarOut) {{
            mean(c) +=! I(nn, c, hh, ww)
            mean(c) = mean(c) / (N * H * W)
            rMeanOut(c) = (1 - {momentum}) * rMeanIn(c) + {momentum} * mean(c)
            centered(n, c, h, w) = I(n, c, h, w) - rMeanOut(c)
            variance(n, c, h, w) = centered(n, c, h, w) * centered(n, c, h, w)
            expectedVariance(c) +=! (variance(n, c, h, w) + {eps}) / (N * H * W)
            rVarOut(c) = rsqrt((1 - {momentum}) * rVarIn(c) + {momentum} * expectedVariance(c))
            O(n, c, h, w) = centered(n, c, h, w) * rVarOut(c)
        }}""",
        lambda: (rand(3, 4, 5, 6), torch.zeros(4), torch.ones(4)),
        lambda i, m, v: (norm(i, (0, 2, 3)), i.mean((0, 2, 3)), (i.var((0, 2, 3), unbiased=False) + 1e-5).rsqrt()),
        {"momentum": 1.0, "eps": 1e-5},
    ),
    "layernorm": (
        """def layernorm(float(T,B,C) I) -> (O, mean, centered, var) {{
            mean(t, b) +=! I(t, b, c) / C
            centered(t, b, c) = I(t, b, c) - mean(t, b)
            var(t, b) +=! centered(t, b, c) * centered(t, b, c)
            var(t, b) = (var(t, b) + {eps}) / C
            O(t, b, c) = centered(t, b, c) / sqrt(var(t, b))
        }}""",
        lambda: (rand(4, 3, 20),),
        lambda i: (
            norm(i, 2, 1e-5 / 20),
            i.mean(2),
            i - i.mean(2, keepdim=True),
            i.var(2, unbiased=False) + 1e-5 / 20,
        ),
        {"eps": 1e-5},
    ),
    "softmax": (
        """def softmax(float(N,D) I) -> (O, maxVal, expDistance, expSum) {
            maxVal(n) max=! I(n, d)
            expDistance(n, d) = exp(I(n, d) - maxVal(n))
            expSum(n) +=! expDistance(n, d)
            O(n, d) = expDistance(n, d) / expSum(n)
        }""",
        lambda: (rand(7, 33) * 8,),
        lambda i: (i.softmax(1), i.amax(1), (e := (i - i.amax(1, keepdim=True)).exp()), e.sum(1)),
    ),
    "avgpool": (
        """def avgpool(float(B,C,H,W) input) -> (output) {{
            output(b, c, h, w) += input(b, c, h * {sH} + kh, w * {sW} + kw) / ({kH} * {kW}) where kh in 0:{kH}, kw in 0:{kW}
        }}""",
        lambda: (rand(2, 3, 8, 9),),
        lambda x: pool(x).mean((-1, -2)),
        {"sH": 1, "sW": 1, "kH": 2, "kW": 2},
    ),
    "maxpool": (
        """def maxpool(float(B,C,H,W) input) -> (output) {{
            output(b, c, h, w) max=! input(b, c, h * {sH} + kh, w * {sW} + kw) where kh in 0:{kH}, kw in 0:{kW}
        }}""",
        lambda: (rand(2, 3, 8, 9) - 1,),
        lambda x: pool(x).amax((-1, -2))[:, :, ::2, ::2],
        {"sH": 2, "sW": 2, "kH": 2, "kW": 2},
    ),
    "maxpool_padded": (
        """def maxpool_padded(float(B,C,H,W) I) -> (O) {
            O(b, c, h, w) max=! (h + kh >= 1 && h + kh <= H && w + kw >= 1 && w + kw <= W) ? I(b, c, h + kh - 1, w + kw - 1) : -1e30
                where h in 0:H, w in 0:W, kh in 0:3, kw in 0:3
        }""",
        lambda: (rand(2, 3, 6, 7),),
        lambda x: sampled(padded(x), (3, 3)).amax((-1, -2)),
    ),
    "lut": (
        "def _1LUT(float(E,D) LUT1, int32(B,L1) I1) -> (O1) { O1(i, j) +=! LUT1(I1(i, k), j) }",
        lambda: (rand(100, 8), index(100, 5, 4)),
        lambda t, i: t[i.long()].sum(1),
    ),
    "two_lut": (
        """def _2LUT(float(E1,D) LUT1, int32(B,L1) I1, float(E2,D) LUT2, int32(B,L2) I2) -> (O1, O2) {
            O1(i, j) +=! LUT1(I1(i, k), j)
            O2(i, j) +=! LUT2(I2(i, k), j)
        }""",
        lambda: (rand(100, 8), index(100, 5, 4), rand(60, 8), index(60, 5, 3)),
        lambda t, i, u, k: (t[i.long()].sum(1), u[k.long()].sum(1)),
    ),
    "embedding": (
        "def embedding(float(E,D) W, int64(B,T) I) -> (O) { O(b, t, d) = W(I(b, t), d) }",
        lambda: (rand(30, 8), index(30, 5, 4).long()),
        lambda w, i: torch.embedding(w, i),
    ),
    "dot": (
        "def dot(float(N) A, float(N) B) -> (o) { o() +=! A(i) * B(i) }",
        lambda: (rand(1000), rand(1000)),
        torch.dot,
    ),
    "transpose": (
        "def transpose(float(N,C,H,W) I) -> (O) { O(c, n, w, h) = I(n, c, h, w) }",
        lambda: (rand(2, 3, 4, 5),),
        lambda x: x.permute(1, 0, 3, 2),
    ),
    "concat": (
        """def concat(float(M,N) A, float(M,N) B) -> (O1) { O1(n, i, m) = n == 0 ? A(m, i) : B(m, i) where n in 0:2 }""",
        lambda: (rand(4, 5), rand(4, 5)),
        lambda a, b: torch.stack([a.t(), b.t()]),
    ),
    "cat_dim": (
        """def cat_dim(float(M,N) A, float(M,K) B) -> (O) { O(m, j) = j < N ? A(m, j) : B(m, j - N) where j in 0:N+K }""",
        lambda: (rand(4, 5), rand(4, 7)),
        lambda a, b: torch.cat([a, b], 1),
    ),
    "cosine": (
        """def cosine_similarity(float(M,N) I1, float(M,N) I2) -> (O, sumI1, sumI2) {{
            sumI1(m) +=! I1(m, n) * I1(m, n)
            sumI2(m) +=! I2(m, n) * I2(m, n)
            O(m) +=! (I1(m, n) * I2(m, n)) * rsqrt(fmax(sumI1(m) * sumI2(m), {eps}))
        }}""",
        lambda: (rand(6, 40), rand(6, 40)),
        lambda a, b: ((a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1)), (a * a).sum(1), (b * b).sum(1)),
        {"eps": 1e-8},
    ),
    "scale": (
        "def scale(float(M,N) I) -> (O) {{ O(m, n) = I(m, n) * {s} }}",
        lambda: (rand(6, 40),),
        lambda x: x * 10,
        {"s": 10},
    ),
    "copy": ("def copy(float(M,N) I) -> (O) { O(m, n) = I(m, n) }", lambda: (rand(6, 40),), lambda x: x),
    "cast": (
        "def cast(float(M,N) A) -> (O1) { O1(m, n) = int32(A(m, n) * 100) }",
        lambda: (rand(6, 7),),
        lambda x: (x * 100).int(),
    ),
    "relu": ("def relu(float(B,M) I) -> (O1) { O1(b, m) = fmax(I(b, m), 0) }", lambda: (rand(6, 40),), torch.relu),
    "sigmoid": (
        "def sigmoid(float(N,C) I) -> (O) { O(n, c) = 1 / (1 + exp(-I(n, c))) }",
        lambda: (rand(6, 40) * 10,),
        torch.sigmoid,
    ),
    "tanh": ("def tanh_(float(M) I) -> (O) { O(m) = tanh(I(m)) }", lambda: (rand(100) * 8,), torch.tanh),
    "small_indexing": (
        "def indexing(float(H,W) input, int32(L) index) -> (output) { output(l, w) = input(index(l), w) where l in 0:{L} }".replace(
            "{", "{{"
        )
        .replace("}", "}}")
        .replace("{{L}}", "{L}"),
        lambda: (rand(9, 10), index(9, 5)),
        lambda x, i: x[i.long()],
        {"L": 5},
    ),
    "tensordot": (
        "def tensordot(float(N,C1,C2,H,W) I0, float(N,C2,C3,H,W) I1) -> (O) { O(n, c1, c3, h, w) +=! I0(n, c1, c2, h, w) * I1(n, c2, c3, h, w) }",
        lambda: (rand(2, 3, 4, 5, 6), rand(2, 4, 3, 5, 6)),
        lambda a, b: torch.einsum("nabhw,nbchw->nachw", a, b),
    ),
    "kru": (
        """def kronecker3(float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X) -> (Y, XW1, XW2) {
            XW2(m, n0, n1, d2) +=! X(m, n0, n1, n2_red) * W2(d2, n2_red)
            XW1(m, n0, d1, d2) +=! XW2(m, n0, n1_red, d2) * W1(d1, n1_red)
            Y(m, d0, d1, d2) +=! XW1(m, n0_red, d1, d2) * W0(d0, n0_red)
        }""",
        lambda: (rand(2, 3), rand(3, 4), rand(4, 5), rand(6, 3, 4, 5)),
        lambda w0, w1, w2, x: (
            kronecker(w0, w1, w2, x.flatten(1)).reshape(6, 2, 3, 4),
            torch.einsum("mabc,xc,yb->mayx", x, w2, w1),
            x @ w2.t(),
        ),
    ),
    "moments": (
        """def moments(float(N,K) I) -> (mean, var) {
            mean(n) +=! I(n, r_k)
            mean(n) = mean(n) / K
            var(n) +=! I(n, r_k) * I(n, r_k)
            var(n) = var(n) / K - mean(n) * mean(n)
        }""",
        lambda: (rand(6, 50),),
        lambda x: (x.mean(1), x.var(1, unbiased=False)),
    ),
    "wavenet": (
        """def wavenet(float(B,C,T) Data, float(F,C,2) FilterWeight, float(F) FilterBias, float(F,C,2) GateWeight, float(F) GateBias) -> (Z) {{
            A(b, f, t) +=! Data(b, c, t + k * {dilation}) * FilterWeight(f, c, k)
            A(b, f, t) = A(b, f, t) + FilterBias(f)
            G(b, f, t) +=! Data(b, c, t + k * {dilation}) * GateWeight(f, c, k)
            G(b, f, t) = G(b, f, t) + GateBias(f)
            Z(b, f, t) = tanh(A(b, f, t)) / (1 + exp(-G(b, f, t)))
        }}""",
        lambda: (rand(2, 3, 20), rand(4, 3, 2), rand(4), rand(4, 3, 2), rand(4)),
        lambda x, w, b, v, g: torch.conv1d(x, w, b, dilation=4).tanh() * torch.conv1d(x, v, g, dilation=4).sigmoid(),
        {"dilation": 4},
    ),
    "argless_counts": (
        "def histogram(uint8(N) I) -> (O) { O(b) +=! int32(I(n) == b) where b in 0:8 }",
        lambda: (torch.randint(0, 8, (100,), dtype=torch.uint8),),
        lambda x: torch.bincount(x.long(), minlength=8).int(),
    ),
}


def padded(x):
    whole = torch.full((*x.shape[:2], x.shape[2] + 2, x.shape[3] + 2), -1e30)
    whole[:, :, 1:-1, 1:-1] = x
    return whole


@pytest.mark.parametrize("options", ["auto", "naive"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_agrees_with_our_operators(name, options):
    text, inputs, expected, *constants = LAYERS[name]
    torch.manual_seed(len(name))
    given = inputs()
    found = tc.define(text, constants=constants[0] if constants else None)(*given, options=options)
    found, wanted = ([x] if isinstance(x, torch.Tensor) else x for x in (found, expected(*given)))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert torch.allclose(a.double(), b.double(), rtol=1e-4, atol=2e-5), (a - b).abs().max()
