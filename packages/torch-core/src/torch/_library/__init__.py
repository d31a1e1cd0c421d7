"""Modules of PyTorch's own that libraries with operators import from; ``torch.library`` has what they offer."""
