"""Where libraries look for ``save``."""

from .saving import async_save, save, save_state_dict

__all__ = ["async_save", "save", "save_state_dict"]
