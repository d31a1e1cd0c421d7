"""Pickles: what a file may name and call, the machine that reads them as data, and the one that writes them."""
