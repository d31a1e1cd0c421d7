"""Functions of ``torch`` that are written in Python over its operators, by family."""
