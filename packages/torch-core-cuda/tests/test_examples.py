"""The examples of docstrings."""

import doctest
import importlib

import pytest
import torch


@pytest.mark.parametrize("name", ["devices", "memory", "random", "streams"])
def test_the_examples_of_a_module_run(name):
    module = importlib.import_module(f"torch._cuda.{name}")
    torch.cuda.synchronize()
    assert doctest.testmod(module, extraglobs={"torch": torch}).failed == 0
