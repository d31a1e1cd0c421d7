"""What passes are and how they run one after the other."""
