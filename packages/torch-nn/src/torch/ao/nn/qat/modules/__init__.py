"""The same layers, and the class that convolutions of one's own derive from."""

from torch.ao.nn.qat import Conv1d, Conv2d, Conv3d, Embedding, EmbeddingBag, Linear

from . import conv as conv

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
