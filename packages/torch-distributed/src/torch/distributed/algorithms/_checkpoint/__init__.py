"""Activations computed again in backward."""
