"""Fuzzes `load`, `inspect` and `convert`, guided by coverage.

    pip install atheris
    nice -n 19 python packages/torch-serialize/tests/fuzz/run.py FOLDER -max_total_time=1800

FOLDER collects the inputs that reached something new; it starts with the seeds in ``corpus/``. Other arguments are
libFuzzer's. An input that breaks a promise is written to ``crash-*`` in the current folder.
"""

import pathlib
import random
import sys

import atheris

with atheris.instrument_imports(include=["torch.serialize"]):
    import target


def mutator(data: bytes, max_size: int, seed: int) -> bytes:
    rng = random.Random(seed)

    def change(part, rng):
        return atheris.Mutate(part, min(max_size, len(part) + 64)) if rng.random() < 0.5 else target.flip(part, rng)

    return target.mutate(data, rng, change)[:max_size]


def one_input(data: bytes) -> None:
    target.check(data, len(data))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).parent
    seeds = [str(here / "corpus"), str(here.parent / "data")]
    limits = ["-timeout=600", "-max_len=65536", "-rss_limit_mb=2048"]
    atheris.Setup([*sys.argv, *seeds, *limits], one_input, custom_mutator=mutator)
    atheris.Fuzz()
