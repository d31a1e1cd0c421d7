"""Operators along a dim of tensors that have none: torch takes these as a row of one element."""

import pytest
import torch
from agreement import agree
from torch import linalg, nn
from torch.nn import functional as F

PLACE = torch.tensor(0)
PROGRAMS = {
    "sums": lambda x: (x.sum(0), x.sum(-1, keepdim=True), x.nansum(0), x.mean(0), x.nanmean(-1), x.prod(0)),
    "extremes": lambda x: (x.amax(0), x.amin(-1, keepdim=True), *x.max(0), *x.min(-1), *x.aminmax(dim=0)),
    "places of extremes": lambda x: (x.argmax(0), x.argmin(-1, keepdim=True), x.argmax()),
    "truth": lambda x: ((x > 0).any(0), (x > 0).all(-1, keepdim=True), x.count_nonzero(0)),
    "norms": lambda x: (x.norm(dim=0), linalg.vector_norm(x, 3, dim=-1), x.logsumexp(0)),
    "variances": lambda x: (x.var(0, unbiased=False), *torch.std_mean(x, -1, unbiased=False)),
    "order": lambda x: (*x.sort(0), *x.topk(1, -1), *x.median(0), *x.kthvalue(1, 0), x.argsort(0), x.msort(), *x.mode(0)),
    "running": lambda x: (x.cumsum(0), x.cumprod(-1), *x.cummax(0), *x.cummin(0), x.logcumsumexp(0)),
    "shares": lambda x: (x.softmax(0), x.log_softmax(-1), F.softmin(x, 0)),
    "places": lambda x: (x.gather(0, PLACE), x.index_select(0, PLACE.view(1)), x.scatter(0, PLACE, 3.0)),
    "written places": lambda x: (x.index_fill(0, PLACE, 2.0), x.index_add(0, PLACE, x), x.index_copy(0, PLACE, x)),
    "moves": lambda x: (x.squeeze(0), x.unsqueeze(0), x.transpose(0, -1), x.repeat_interleave(3, 0)),
    "found": lambda x: (x.nonzero(), (x * 0).nonzero(), F.one_hot(x.long(), 3)),
}  # fmt: skip


class Program(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("opset", [16, 20])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tensor_without_dims_is_a_row_of_one_element(name, opset):
    x = torch.tensor(1.5)
    agree(Program(PROGRAMS[name]), x, others=[(torch.tensor(2.25),)], opset_version=opset, fallback=False)
    agree(torch.jit.trace(Program(PROGRAMS[name]), (x,)), x, opset_version=opset, dynamo=False)


def test_a_result_that_is_a_number_is_reduced_again():
    """Metrics do so with sums of sums."""

    def accuracy(x):
        hits = (x > 0).float()
        return hits.sum(-1).sum(-1) / hits.numel()

    agree(Program(accuracy), torch.randn(5), others=[(torch.randn(5),)])
