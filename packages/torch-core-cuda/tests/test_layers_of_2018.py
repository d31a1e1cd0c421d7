"""Programs of 2018 with modules, losses, optimizers, files and threads, on one device and on two."""

import functools

import pytest
from program_runner import SETTINGS, outcomes, programs

pytest.importorskip("torch.nn", exc_type=ImportError)
FILES = ("files", "gradients", "graphs_of_gradients", "layers", "modules", "parallel", "training")
found = functools.cache(outcomes)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("file, program", [(file, name) for file in FILES for name in programs(file)])
def test_it_computes_what_it_did_then(file, program, settings):
    outcome = found(file, settings)[program]
    if outcome and outcome.startswith("skipped"):
        pytest.skip(outcome)
    assert outcome is None, outcome
