"""Training one module in several processes, each on its part of the data."""
