"""Where bytes come from and go to: files, pipes and devices, by threads, and who hears how far they are."""
