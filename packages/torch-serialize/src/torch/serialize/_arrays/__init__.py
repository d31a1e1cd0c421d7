"""What a stored tensor becomes: an ndarray or a tensor, and how these are found in an object."""
