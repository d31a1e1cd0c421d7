"""The distribution `torch`: every part of the stack, by pins.

This file is all that it installs. With it, ``importlib.metadata.packages_distributions()["torch"]`` names `torch` among
the distributions behind ``import torch``, where other libraries look for it.
"""
