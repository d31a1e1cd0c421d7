"""Backends of ``torch.compile`` that programs import."""
