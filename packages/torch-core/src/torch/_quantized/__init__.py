"""Tensors of small integers with a scale: what ``torch.quantize_per_tensor`` makes and quantized layers take and give.

A quantized tensor holds its integers as its memory; ``(integer - zero_point) * scale`` is the number that one stands for. What moves or orders elements
acts on the integers. A few functions of numbers (means, pooling, ``sigmoid``) compute in float32 and round again; what writes rounds what it
is given; all others name ``dequantize``.
"""

from . import functions as functions  # what quantized tensors answer
