"""Backend ``libgloo``: collectives by the Gloo library, where its headers are installed (Debian: libgloo-dev)."""
