"""Options under the name of their module of 2018: ``tc.options.Options("naive")``."""

from torch.tc._options import MappingOptions, Options

__all__ = ["MappingOptions", "Options"]
