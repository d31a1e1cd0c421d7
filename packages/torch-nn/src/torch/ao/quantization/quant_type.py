"""The ways to quantize, as words."""

import enum

__all__ = ["QuantType"]


class QuantType(enum.IntEnum):
    """Dynamically, after calibration, in training, or the weight only."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3
