"""Passes for running models, and names of a symbolic world that this stack has in part only."""
