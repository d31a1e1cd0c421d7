"""A short seeded run of what ``fuzz/run.py`` does for as long as one likes; an input that it ever found stays in ``fuzz/corpus``."""

import importlib.util
import pathlib
import random
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
