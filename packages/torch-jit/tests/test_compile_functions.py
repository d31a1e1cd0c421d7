"""``autograd.Function`` within whole programs: one call of the graph, with its own derivative."""

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)


class Scale(torch.autograd.Function):
    """Times k; the gradient is another one, so that it shows whose it is."""

    @staticmethod
    def forward(ctx, x, k=2):
        ctx.save_for_backward(x)
        return x * k

    @staticmethod
    def backward(ctx, g):
        return g * 5 + ctx.saved_tensors[0], None


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y, x * y

    @staticmethod
    def backward(ctx, g, h):
        return g + 3 * h, g - h


def scaled(x):
    return Scale.apply(x + 1, 3) * 2


def both(x):
    return sum(Both.apply(x.sin(), x)) * 2


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("function", [scaled, both])
def test_a_function_of_ones_own_keeps_its_derivative(function, own):
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module

    compiled = torch.compile(function, fullgraph=True, **({"backend": backend} if own else {}))
    for seed in range(4):
        a = torch.randn(2, 3, generator=torch.Generator().manual_seed(seed)).requires_grad_()
        b = a.detach().clone().requires_grad_()
        out, wanted = compiled(a), function(b)
        out.sum().backward()
        wanted.sum().backward()
        assert torch.equal(out, wanted) and torch.equal(a.grad, b.grad)
        with torch.no_grad():
            assert torch.equal(compiled(a), wanted) and not compiled(a).requires_grad
    if own:
        assert any("_apply" in str(n.target) or "_apply" in n.name for n in graphs[0].graph.nodes) and len(graphs) == 2


def test_what_the_function_reads_it_reads_at_each_call():
    factor = [2.0]

    class Read(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * factor[0] if x.sum().item() > 0 else x - factor[0]

        @staticmethod
        def backward(ctx, g):
            return g

    compiled = torch.compile(lambda x: Read.apply(x * 1), fullgraph=True)
    x = torch.ones(2)
    assert torch.equal(compiled(x), x * 2) and torch.equal(compiled(-x), -x - 2)
    factor[0] = 7.0
    assert torch.equal(compiled(x), x * 7)


def test_functions_that_write_or_give_no_tensors_are_refused():
    class Write(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g

    class Number(Scale):
        @staticmethod
        def forward(ctx, x):
            return x * 1, 3

    for kind, reason in ((Write, "new tensors"), (Number, "new tensors")):
        with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
            torch.compile(lambda x, kind=kind: kind.apply(x * 1), fullgraph=True)(torch.ones(2))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="without tensors"):
        torch.compile(lambda x: x + Both.apply(2, 3)[0], fullgraph=True)(torch.ones(2))
