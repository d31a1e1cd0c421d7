import doctest
import inspect
import subprocess
import sys

import pytest
import torch
from torch import _help

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OWNERS = [torch, torch.Tensor, torch.linalg, torch.fft, torch.special]
OPERATORS = {
    v.__name__: v for o in OWNERS for v in list(vars(o).values()) if isinstance(getattr(v, "schemas", None), tuple)
}


def test_help_of_an_operator_shows_signature_schema_shape_dtypes_and_an_example(capsys):
    help(torch.add)
    text = capsys.readouterr().out
    for words in ("add(input, other, *, alpha=1, out=None)", "Schema:", "add(Number self, Number other", "Shape: ", "Dtypes: bool, uint8",
                  ">>> torch.add(v, w, alpha=10)"):  # fmt: skip
        assert words in text
    assert torch.Tensor.add.__doc__ == torch.add.__doc__


def test_shapes_are_told_in_words_where_the_row_tells_them():
    def of(operator):
        return operator.__doc__.partition("\nShape: ")[2].partition("\n\n")[0]

    assert of(torch.exp) == "that of the input."
    assert of(torch.mul) == "that to which the inputs are broadcast."
    assert of(torch.Tensor.mul_) == "that of the tensor, to which the others are broadcast."
    assert of(torch.amax).startswith("that of the input without the dims")
    assert of(torch.ones) == "size."
    assert of(torch.equal) == "none: a bool of Python."
    assert of(torch.matmul) == "(2, 3), (3,) -> (2,) in the example."


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(n for n in OPERATORS if not n.startswith("_")))
def test_the_example_of_an_operator_runs(name):
    output = []
    lines = _help.examples()[name]
    torch.manual_seed(0)
    if not any("requires_grad" in line or "torch.nn" in line for line in lines):  # needs another part
        test = doctest.DocTestParser().get_doctest("\n".join(lines), {"torch": torch}, name, None, 0)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)
    assert not output, "".join(output)


def test_the_texts_are_loaded_when_somebody_asks():
    code = "import sys, torch; torch.add(1, torch.ones(1)); a = 'torch._help' in sys.modules; torch.add.__doc__; print(a, 'torch._help' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False True\n"


def test_signatures_and_words_alone_are_there_for_stubs():
    assert torch.exp._text == "exp(input, *, out=None)\n\n``e`` to the power of each element."
    assert str(inspect.signature(torch.exp)) == "(input, *, out=None)"
