"""Where compiled programs would lie."""
