"""Quotients in a module where ``/`` is that of Python 3, as it is in all."""

from __future__ import annotations


def div_int_future():
    """A half."""
    return 1 / 2


def div_float_future():
    """Pi is not far."""
    return 3.14 / 0.125
