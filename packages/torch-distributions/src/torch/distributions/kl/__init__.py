"""Kullback and Leibler's divergence between distributions."""

from . import across, same_family  # noqa: F401
from .registry import _KL_REGISTRY, _dispatch_kl, kl_divergence, register_kl  # noqa: F401

__all__ = ["kl_divergence", "register_kl"]
