"""The vector instructions of this processor."""

from torch import _cold


class VecISA:
    """A set of vector instructions; false for none."""

    def __init__(self, level):
        self.level = level

    def __str__(self):
        return self.level

    def __bool__(self):
        return self.level in ("avx2", "avx512", "v3", "v4")


def pick_vec_isa():
    """The widest that this processor has."""
    return VecISA(_cold.machine()["cpu_level"].lower())


def valid_vec_isa_list():
    """All that this processor has."""
    found = pick_vec_isa()
    return [found] if found else []
