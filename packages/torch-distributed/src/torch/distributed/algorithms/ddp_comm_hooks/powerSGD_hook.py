"""Gradients as products of small matrices: not there."""

from ..._absent import fill

fill(globals(), "bf16_compress_hook halves the bytes", ["PowerSGDState"], ["powerSGD_hook", "batched_powerSGD_hook"])
