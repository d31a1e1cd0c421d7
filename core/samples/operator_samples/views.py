"""Views, their backward operators, joins and triangles."""

from .source import call

CALLS = {
    # --- views
    "view(Tensor(a) self, int": [lambda t: call(t(2, 3), [3, 2])],
    "squeeze": [lambda t: call(t(2, 1, 3)), lambda t: call(t(1, 2, 1), [0])],
    "unsqueeze": [lambda t: call(t(2, 3), 1)],
    "expand": [lambda t: call(t(2, 1), [3, 2, 4])],
    "alias": [lambda t: call(t(2))],
    "transpose": [lambda t: call(t(2, 3, 4), 0, -1)],
    "permute": [lambda t: call(t(2, 3, 4), [2, 0, -2])],
    "select": [lambda t: call(t(2, 3), 1, -1)],
    "slice": [lambda t: call(t(5, 2), 0, 1, 5, 2)],
    "diagonal": [lambda t: call(t(3, 4), 1), lambda t: call(t(2, 3, 3), -1, 1, 2)],
    "unfold": [lambda t: call(t(6), 0, 3, 1)],
    "as_strided": [lambda t: call(t(6), [2, 2], [3, 1], 1), lambda t: call(t(4), [3, 2], [1, 1])],
    "unbind": [lambda t: call(t(2, 3), 1)],
    "split(Tensor(a) self, int split": [lambda t: call(t(5, 2), 2)],
    "split_with_sizes": [lambda t: call(t(5, 2), [1, 4])],
    "view_as_real": [],
    "view_as_complex": [lambda t: call(t(3, 2))],
    "select_backward": [lambda t: call(t(2), [2, 3], 1, 2)],
    "slice_backward": [lambda t: call(t(2, 2), [5, 2], 0, 1, 5, 2)],
    "diagonal_backward": [lambda t: call(t(3), [3, 4], 1, 0, 1)],
    "unfold_backward": [lambda t: call(t(4, 3), [6], 0, 3, 1)],
    "select_scatter": [lambda t: call(t(2, 3), t(2), 1, 2)],
    "slice_scatter": [lambda t: call(t(5, 2), t(2, 2), 0, 1, 5, 2)],
    "diagonal_scatter": [lambda t: call(t(3, 4), t(3), 1)],
    "as_strided_scatter": [lambda t: call(t(6), t(2, 2), [2, 2], [3, 1], 1)],
    # --- joins
    "cat": [lambda t: call([t(2, 3), t(1, 3), t(0)], 0), lambda t: call([t(2, 3), t(2, 1)], -1)],
    "stack": [lambda t: call([t(2, 3), t(2, 3)], 1)],
    "constant_pad_nd": [lambda t: call(t(2, 3), [1, -1, 0, 2], 3.0)],
    "complex": [lambda t: call(t(3), t(3))],
    "tril": [lambda t: call(t(3, 4), 1)],
    "triu": [lambda t: call(t(2, 3, 4), -1)],
    "diag_embed": [lambda t: call(t(2, 3), 1)],
}
