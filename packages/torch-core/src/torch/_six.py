"""What programs of 2018 imported from here to run on two generations of Python, and later ones out of habit."""

import builtins
import collections.abc as container_abcs
import queue  # noqa: F401
from math import inf, nan

string_classes = (str, bytes)
int_classes = int
FileNotFoundError = builtins.FileNotFoundError
PY2, PY3 = False, True

__all__ = ["PY2", "PY3", "FileNotFoundError", "container_abcs", "inf", "int_classes", "nan", "string_classes"]
