import subprocess
import sys

PROGRAM = """
import sys
sys.modules["halide"] = None
import torch.tc as tc
tc.parse("def f(float(N) A) -> (o) { o(i) = A(i) }")  # errors of the language need no compiler
try:
    tc.define("def f(float(N) A) -> (o) { o(i) = A(i) }", name="f")
except ModuleNotFoundError as error:
    print(error)
"""


def test_a_definition_says_what_to_install():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert run.stdout == "torch.tc compiles with Halide, and halide is not installed: pip install 'halide>=21'\n", (
        run.stderr
    )


def test_an_import_loads_no_compiler():
    program = "import torch.tc, sys; assert not {'halide', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
