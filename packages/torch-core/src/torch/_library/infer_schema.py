"""The schema of a function, from its annotations.

>>> from torch._library.infer_schema import infer_schema
>>> infer_schema is torch.library.infer_schema
True
"""

from ..library import infer_schema

__all__ = ["infer_schema"]
