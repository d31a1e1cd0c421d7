import pytest
import torch


@pytest.mark.parametrize("name", ["T", "mT", "H", "mH"])
def test_transposed_matrices_by_their_attributes(name):
    unit = torch.jit.CompilationUnit(f"def f(x):\n    return x.{name}\n")
    x = torch.randn(2, 3, dtype=torch.complex64)
    assert torch.equal(unit.f(x), getattr(x, name))


def test_the_conjugate_transpose_of_a_batch_is_mH():
    unit = torch.jit.CompilationUnit("def f(x):\n    return x.mH\n")
    x = torch.randn(4, 2, 3, dtype=torch.complex64)
    assert torch.equal(unit.f(x), x.mH)


def test_it_is_written_by_the_name_that_pytorch_reads():
    import io

    class Turned(torch.nn.Module):
        def forward(self, x):
            return x.T + 1

    file = io.BytesIO()
    module = torch.jit.script(Turned())
    torch.jit.save(module, file)
    assert "numpy_T" in module.code
    x = torch.arange(6.0).view(2, 3)
    assert torch.equal(torch.jit.load(io.BytesIO(file.getvalue()))(x), x.T + 1)
