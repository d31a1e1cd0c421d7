"""Quotients in a module that asked for nothing: in Python 3 they are the same."""

from __future__ import annotations


def div_int_nofuture():
    """A half."""
    return 1 / 2


def div_float_nofuture():
    """Pi is not far."""
    return 3.14 / 0.125
