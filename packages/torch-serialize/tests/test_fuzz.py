"""Short seeded runs of what ``fuzz/run.py`` and ``fuzz/compose.py`` do for as long as one likes.

An input that the first ever found stays in ``fuzz/corpus``.
"""

import importlib.util
import pathlib
import random
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
SEEDS = sorted((HERE / "fuzz" / "corpus").iterdir()) + sorted((HERE / "data").iterdir())


@pytest.fixture(scope="module")
def target():
    spec = importlib.util.spec_from_file_location("fuzz_target", HERE / "fuzz" / "target.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.name)
def test_damage_of_any_kind_is_an_error_or_harmless_and_stays_cheap(target, seed):
    raw, rng = seed.read_bytes(), random.Random(seed.name)
    target.check(raw)
    for i in range(25):
        bad = target.mutate(raw, rng)
        for _ in range(rng.randrange(3)):
            bad = target.mutate(bad, rng)
        try:
            target.check(bad, i)
        except BaseException:
            print("input:", bad.hex(), file=sys.stderr)
            raise


def test_the_bound_on_memory_can_be_broken(target, monkeypatch):
    monkeypatch.setattr(target, "load", lambda *args, **kwargs: bytearray(10 << 20))
    with pytest.raises(AssertionError, match="bytes of memory for 3 bytes"):
        target.check(b"abc")


@pytest.mark.parametrize(
    "options", [["--seed", "1"], ["--seed", "2", "--bytes"]], ids=["composed", "with changed bytes"]
)
def test_whatever_is_composed_of_allowed_words_runs_nothing_and_shares_nothing(options, tmp_path):
    # In a process of its own: a crash is found, and hooks of an audit cannot be taken off again.
    command = [sys.executable, HERE / "fuzz" / "compose.py", "--seconds", "2", "--folder", tmp_path, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "'object'" in done.stdout and "'CorruptPickleError'" in done.stdout


PLANTED = """
import os, sys
sys.path.insert(0, {folder!r})
import compose, numpy
from torch.serialize._pickles import numpy_pickles, words
compose.prepare()
word, fault = {fault}
kind = numpy_pickles.NumpyWords if hasattr(numpy_pickles.NumpyWords, word) else words.PLAIN[word]
setattr(kind, "make" if kind is not numpy_pickles.NumpyWords else word, fault)
rng = compose.random.Random(1)
for _ in range(3000):
    compose.check(compose.compose(rng))
"""


@pytest.mark.parametrize(("fault", "text"), [
    ("'builtins.str', lambda value='': os.listdir('/')", "events"),
    ("'builtins.str', lambda value='': len", "something to call"),
    ("'builtins.str', lambda value='': memoryview(bytearray(1 << 33))", "MemoryError|events|s for"),
    ("'_array_state', lambda self, numpy, target, state: numpy.ndarray.__setstate__(target, state)", "bytes have changed"),
    ("'_dtype_state', lambda self, numpy, target, state: numpy.dtype.__setstate__(target, state)", "array of objects|Flags|rc -"),
])  # fmt: skip
def test_a_fault_that_is_planted_is_found(fault, text):
    code = PLANTED.format(folder=str(HERE / "fuzz"), fault=fault)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and re.search(text, f"{done.stderr} rc {done.returncode}")
