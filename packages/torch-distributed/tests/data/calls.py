"""Every way of communicating, as a call of a rank of three that goes on for long enough to be killed in it."""

import torch
import torch.distributed as dist


def lists(length):
    return [torch.ones(length) for _ in range(3)]


CALLS = {
    "all_reduce": lambda r, n: dist.all_reduce(torch.ones(n)),
    "broadcast": lambda r, n: dist.broadcast(torch.ones(n), 2),
    "reduce": lambda r, n: dist.reduce(torch.ones(n), 0),
    "all_gather": lambda r, n: dist.all_gather(lists(n), torch.ones(n)),
    "all_gather_into_tensor": lambda r, n: dist.all_gather_into_tensor(torch.ones(3 * n), torch.ones(n)),
    "gather": lambda r, n: dist.gather(torch.ones(n), lists(n) if r == 0 else None, 0),
    "scatter": lambda r, n: dist.scatter(torch.ones(n), lists(n) if r == 2 else None, 2),
    "reduce_scatter": lambda r, n: dist.reduce_scatter(torch.ones(n), lists(n)),
    "reduce_scatter_tensor": lambda r, n: dist.reduce_scatter_tensor(torch.ones(n), torch.ones(3 * n)),
    "all_to_all": lambda r, n: dist.all_to_all(lists(n), lists(n)),
    "all_to_all_single": lambda r, n: dist.all_to_all_single(torch.ones(3 * n), torch.ones(3 * n)),
    "all_gather_object": lambda r, n: dist.all_gather_object([None] * 3, "x" * n),
    "broadcast_object_list": lambda r, n: dist.broadcast_object_list(["x" * n if r == 2 else None], 2),
    "barrier": lambda r, n: dist.barrier(),
    "monitored_barrier": lambda r, n: dist.monitored_barrier(),
    "send": lambda r, n: dist.recv(torch.ones(n), 2) if r < 2 else [dist.send(torch.ones(n), to) for to in (0, 1)],
}
