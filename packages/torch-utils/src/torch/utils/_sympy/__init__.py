"""Names of PyTorch's symbolic sizes that libraries use; sizes here are ints."""
