"""Ways to train over several processes."""
