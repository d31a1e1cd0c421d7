"""In which order elements lie in results: programs call `view` on those that PyTorch lays out row by row."""

import pytest
import torch

ROWS = {
    "index_add": lambda x, i: x.index_add(0, i[:2], x[:2]),
    "index_copy": lambda x, i: x.index_copy(0, i[:2], x[:2]),
    "index_reduce": lambda x, i: x.index_reduce(0, i[:2], x[:2], "amax"),
    "masked_fill": lambda x, i: x.masked_fill(x > 0, 1.0),
    "masked_fill of a mask of fewer elements": lambda x, i: x.masked_fill(x[..., :1] > 0, torch.tensor(1.0)),
    "masked_scatter": lambda x, i: x.masked_scatter(x > 0, x),
    "renorm": lambda x, i: x.renorm(2, 0, 1.0),
    "repeat": lambda x, i: x.repeat(1, 1, 1, 1),
    "rot90": lambda x, i: x.rot90(4, (0, 1)),
    "scatter": lambda x, i: x.scatter(0, torch.zeros_like(x, dtype=torch.int64), x),
    "scatter of a number": lambda x, i: x.scatter(0, torch.zeros_like(x, dtype=torch.int64), 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, torch.zeros_like(x, dtype=torch.int64), x),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, torch.zeros_like(x, dtype=torch.int64), x, "amin"),
    "tile": lambda x, i: x.tile(1),
}
KEPT = {
    "index_fill": lambda x, i: x.index_fill(0, i[:2], 1.0),
    "index_put": lambda x, i: x.index_put((i,), torch.tensor(1.0)),
    "put": lambda x, i: x.put(i, torch.ones(2)),
    "where": lambda x, i: torch.where(x > 0, x, 0.0),
}


def _orders():
    yield torch.arange(-60.0, 60.0).reshape(5, 4, 3, 2).permute(3, 2, 1, 0)
    yield torch.arange(-60.0, 60.0).reshape(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", ROWS)
def test_a_result_lies_row_by_row_whatever_the_order_of_the_argument(name):
    for x in _orders():
        result = ROWS[name](x, torch.tensor([0, 1]))
        assert result.is_contiguous()
        assert result.equal(ROWS[name](x.contiguous(), torch.tensor([0, 1])))


@pytest.mark.parametrize("name", KEPT)
def test_a_result_keeps_the_order_of_the_argument(name):
    for x in _orders():
        result = KEPT[name](x, torch.tensor([0, 1]))
        assert result.stride() == x.stride()
        assert result.equal(KEPT[name](x.contiguous(), torch.tensor([0, 1])))
