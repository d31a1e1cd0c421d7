"""What tools that check exported programs import of ``torch.export``'s inner modules."""
