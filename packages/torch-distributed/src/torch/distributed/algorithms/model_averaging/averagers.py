"""Averagers: not there."""

from ..._absent import fill

fill(globals(), "average parameters with all_reduce(ReduceOp.AVG)", ["ModelAverager", "PeriodicModelAverager"])
