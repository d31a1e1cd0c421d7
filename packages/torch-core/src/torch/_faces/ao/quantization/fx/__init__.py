"""Quantization of graphs: refused, as all of it is."""
