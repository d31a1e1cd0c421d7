"""What backends of one's own are made of."""

from torch.fx._aot_autograd import aot_autograd

__all__ = ["aot_autograd"]
