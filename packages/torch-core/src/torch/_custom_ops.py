"""The names that ``torch.library`` had before: they go there."""

from .library import get_ctx, impl_abstract

__all__ = ["get_ctx", "impl_abstract"]
