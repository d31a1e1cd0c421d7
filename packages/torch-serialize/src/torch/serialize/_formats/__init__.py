"""The formats of files: which one it is, its reader and its writer."""
