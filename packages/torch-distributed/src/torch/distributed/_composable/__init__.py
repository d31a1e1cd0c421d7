"""Ways to train that are put on a module: not there."""
