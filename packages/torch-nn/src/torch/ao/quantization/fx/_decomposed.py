"""Operators of quantized graphs, which PyTorch registers at import; there are none."""
