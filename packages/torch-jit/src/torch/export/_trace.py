"""The name of `export` in PyTorch's insides, by which libraries take it."""

from . import export

_export = _export_for_training = export
