"""Python that drops docstrings and assertions (``python -OO``) runs all of it."""

import subprocess
import sys

IMPORT_ALL = """
import importlib, pkgutil, warnings
import torch
warnings.simplefilter("ignore")
for module in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except (ImportError, NotImplementedError):
        pass  # of a part or a library that is not here
model = torch.nn.Linear(3, 2)
same = torch.compile(model)(torch.ones(4, 3)) == torch.jit.trace(model, torch.ones(4, 3))(torch.ones(4, 3))
print(same.all().item())
"""


def test_everything_imports_without_docstrings():
    done = subprocess.run([sys.executable, "-OO", "-c", IMPORT_ALL], capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\n", done.stderr
