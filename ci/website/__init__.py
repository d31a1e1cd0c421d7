"""The documentation site: pages from rows, docstrings, docs/ and READMEs. `python3 ci/docs.py` builds it."""
