"""Settings of PyTorch's compiler of derivatives: accepted, and without effect, since programs run as they were written."""

from __future__ import annotations

activation_memory_budget = 1.0
donated_buffer = functionalize_rng_ops = fake_tensor_allow_meta = False
