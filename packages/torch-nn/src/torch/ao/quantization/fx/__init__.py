"""Quantization of graphs: there is none; ``torch.ao.quantization`` quantizes modules."""
