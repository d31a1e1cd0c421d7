"""Where the pieces of a spread tensor lie."""

from ._layout import local_layout


def compute_local_shape_and_global_offset(global_shape, mesh, placements) -> tuple:
    """The shape of our piece and the index of its first element in the whole."""
    return local_layout(global_shape, mesh, placements)
