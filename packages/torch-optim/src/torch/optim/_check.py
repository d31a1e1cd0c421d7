"""Checks of the options that many algorithms have."""

import torch

__all__ = ["betas_in_range", "not_negative"]


def not_negative(**options):
    """ValueError naming the first option below 0."""
    for name, value in options.items():
        if isinstance(value, torch.Tensor):
            if value.numel() != 1:
                raise ValueError(f"Tensor {name} must be 1-element, got shape {tuple(value.shape)}")
            value = float(value)
        if not value >= 0.0:
            raise ValueError(f"Invalid {_NAMES.get(name, name + ' value')}: {value}")


_NAMES = {
    "lr": "learning rate",
    "eps": "epsilon value",
    "weight_decay": "weight_decay value",
    "momentum": "momentum value",
}


def betas_in_range(betas):
    """ValueError when a beta is not in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= float(beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
