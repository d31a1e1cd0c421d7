"""All that operators do with nested tensors: each module fills a part of the tables."""

from . import _jagged_products, _jagged_reductions, _jagged_rules, _jagged_shapes, _strided_rules  # noqa: F401
