"""What stands in for the kinds of modules of torch-jit where that is not installed."""

import doctest
import importlib.util

import pytest
import torch

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch.fx") is not None, reason="torch-jit is installed")


@pytest.mark.parametrize("name", ["RecursiveScriptModule", "TopLevelTracedModule", "TracedModule"])
def test_kinds_of_compiled_modules_answer_as_their_help_shows(name):
    kind = getattr(torch.jit, name)
    assert issubclass(kind, torch.nn.Module) and "in the distribution 'torch-jit'" in kind.__doc__
    (example,) = doctest.DocTestFinder(recurse=False).find(kind, name, globs={"torch": torch}, module=False)
    assert doctest.DocTestRunner().run(example) == doctest.TestResults(0, 1)
