import changed

import packages

AMONG = packages.read()


def test_a_leaf_touches_itself_and_the_meta_package():
    assert changed.touched(["packages/torch-legacy/src/torch/legacy/nn/linear.py"], AMONG) == {"torch-legacy", "torch"}


def test_autograd_touches_what_stands_on_it():
    found = changed.touched(["packages/torch-autograd/csrc/engine.cpp"], AMONG)
    assert found >= {"torch-autograd", "torch-nn", "torch-optim", "torch"}
    assert not found & {"torch-core", "torch-serialize", "torch-multiprocessing"}


def test_the_core_the_tools_and_the_settings_touch_everything():
    for path in ("core/src/threads/pool.cpp", "ci/wheels.py", "tox.ini", "pyproject.toml"):
        assert changed.touched([path], AMONG) == set(AMONG)


def test_a_page_of_docs_touches_no_package_and_runs_the_doctests():
    assert changed.touched(["docs/architecture.md"], AMONG) == set()
    assert changed.environments(["docs/architecture.md"], AMONG) == ["docs", "lint"]


def test_torch_utils_is_not_taken_for_torch():
    assert "torch-utils" not in changed.touched(["packages/torch/pyproject.toml"], AMONG)


def test_examples_run_the_whole_stack():
    assert changed.environments(["examples/mnist/main.py"], AMONG) == ["stack", "docs", "types", "lint"]
