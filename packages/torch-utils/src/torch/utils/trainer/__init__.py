"""A small training loop with plugins: what is measured, shown and kept is added to it, the loop stays as it is."""

from .trainer import Trainer

__all__ = ["Trainer"]
