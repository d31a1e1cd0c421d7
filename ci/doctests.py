"""Every example that a reader meets is run: in the docs, the READMEs, docstrings of modules and of operators."""

import doctest
import importlib
import pkgutil

import pytest
import torch

from packages import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("packages/*/README.md"))]


def names(package):
    yield package.__name__
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        source = module.module_finder.find_spec(module.name).origin or ""
        if source.endswith(".py") and not source.endswith("__main__.py"):
            yield module.name


def run(test):
    output = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=output.append)
    assert not runner.failures, "".join(output)


def modules():
    for part in ["torch", *(f"torch.{p}" for p in torch._parts.PARTS if hasattr(torch, p))]:
        yield from names(importlib.import_module(part))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page):
    test = doctest.DocTestParser().get_doctest(page.read_text().replace("```", ""), {}, page.name, str(page), 0)
    run(test)


@pytest.mark.parametrize("name", sorted(set(modules())))
def test_the_examples_of_a_module_run(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={"torch": torch}):
        run(test)


def operators():
    for owner in (torch, torch.Tensor):
        for name, value in vars(owner).items():
            if hasattr(value, "schemas") and ">>>" in value.__doc__:
                yield pytest.param(value, id=f"{owner.__name__}.{name}")


@pytest.mark.parametrize("operator", list(operators()))
def test_the_examples_of_an_operator_run(operator):
    run(doctest.DocTestParser().get_doctest(operator.__doc__, {"torch": torch}, operator.__name__, None, 0))
