"""What carries the bytes between processes."""
