"""Every example that a reader meets is run: in the docs, the READMEs, docstrings of modules and of operators."""

import doctest
import importlib
import os
import pkgutil
import sys

import documented
import pytest
import torch
from torch import _help
from website import catalogue, derivatives, tables, tutorials

import examples as examples_of_operators
from packages import ROOT

SEED = int(os.environ.get("TORCH_TEST_SEED", 0))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("packages/*/README.md"))]


def names(package):
    yield package.__name__
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        source = module.module_finder.find_spec(module.name).origin or ""
        if source.endswith(".py") and not source.endswith("__main__.py"):
            yield module.name


def run(test, **options):
    output = []
    torch.manual_seed(SEED)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=output.append, **options)
    assert not runner.failures, "".join(output)


def examples(page):
    return doctest.DocTestParser().get_doctest(page.read_text().replace("```", ""), {}, page.name, str(page), 0)


def modules():
    for part in ["torch", *(f"torch.{p}" for p in torch._parts.PARTS if hasattr(torch, p))]:
        yield from names(importlib.import_module(part))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page):
    run(examples(page))


def migrations():
    for page in tables.PAGES:
        for number, left, right in tables.lines(page):
            yield pytest.param(page, left, right, id=f"{page.name}:{number}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page, left, right", list(migrations()))
def test_both_sides_of_a_migration_table_give_the_same(page, left, right):
    test = examples(page)
    run(test, clear_globs=False)  # the names that the page's examples define
    one, other = eval(left, test.globs), eval(right, test.globs)
    assert tables.same(one, other), f"{left} gives {one}; {right} gives {other}"


@pytest.mark.parametrize("name", sorted(set(modules())))
def test_the_examples_of_a_module_run(name):
    module = importlib.import_module(name)
    space = {} if module is torch else vars(module)  # torch.float hides Python's
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, globs={**space, "torch": torch}):
        run(test)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operator", catalogue.operators(), ids=lambda o: o.title)
def test_the_examples_of_an_operator_run(operator):
    for value in set(operator.callables.values()):
        text = value.__doc__
        assert ">>> " in text and "Schema:" in text and "Derivative" in text
        run(doctest.DocTestParser().get_doctest(text, {"torch": torch}, value.__name__, None, 0))


@pytest.mark.filterwarnings("ignore")
def test_the_file_of_examples_is_what_the_script_writes():
    found, wrong = examples_of_operators.text()
    assert not wrong
    assert found == _help.FILE.read_text(), "python ci/examples.py"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", documented.names())
def test_every_name_of_2018_has_an_example(part):
    ours, lacking = documented.count()[part]
    assert ours and not lacking


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", documented.names())
def test_the_examples_of_names_that_no_module_shows_run(part):
    """Docstrings that are made, those of C, and those of the classes of other modules; doctest finds only functions."""
    for name in documented.names()[part]:
        found = documented.value(name)
        module = sys.modules.get(getattr(found, "__module__", None) or "torch", torch)
        space = {**({} if module is torch else vars(module)), "torch": torch}
        if text := documented.text(found):
            torch.manual_seed(0)
            run(doctest.DocTestParser().get_doctest(text, space, name, None, 0))


def test_the_examples_of_what_reads_derivatives_run():
    assert not doctest.testmod(derivatives._reader, optionflags=FLAGS).failed


@pytest.mark.parametrize("file", sorted(ROOT.glob("docs/tutorials/*.py")), ids=lambda f: f.stem)
def test_a_tutorial_runs(file):
    cells = tutorials.run(file)
    assert any(cell.output for cell in cells)
