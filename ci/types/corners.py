"""Names that are made later, types of what decorated functions give, and shapes of layers: nothing may be found here."""

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.common_types import _size_2_t
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

if torch.xpu.is_available():
    torch.xpu.empty_cache()
elif torch.mps.is_available():
    torch.mps.empty_cache()
elif torch.mtia.is_available():
    torch.mtia.empty_cache()


class Convolutions(nn.Sequential):
    def __init__(self, channels: int, kernel_size: _size_2_t = 3) -> None:
        super().__init__(nn.Conv2d(channels, channels, kernel_size), nn.ReLU())
        self.rate: torch.jit.Final[int] = 2

    def forward(self, input: Tensor) -> list[Tensor]:
        found = []
        for module in self:
            input = module(input)
            found.append(input)
        return found


class Wrapped(DistributedDataParallel):
    def accumulate(self, x: Tensor) -> None:
        with self.no_sync():
            self(x).sum().backward()


class Average(AveragedModel):
    pass


def losses(x: Tensor, y: Tensor) -> Tensor:
    return F.binary_cross_entropy(x, y) + F.kl_div(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def warp(x: Tensor, grid: Tensor) -> Tensor:
    return F.grid_sample(x, grid, align_corners=False)


def recording() -> bool:
    return torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def rest(x: Tensor) -> torch.Size:
    return x.shape[1:]


def shown(x: Tensor) -> str:
    return "{:.3f}".format(x.mean()) + "%d" % x.sum()  # noqa: UP031, UP032 (as they are written)


def highest(x: Tensor) -> Tensor:
    return x.amax(1) - torch.amin(x, dim=(0, 1)) + x.amax(dim=-1, keepdim=True)


def decayed(tensors: list[Tensor]) -> tuple[Tensor, ...]:
    torch._foreach_mul_(tensors, 0.9)
    return torch._foreach_sqrt(tensors)


def spread(net: nn.Module, x: Tensor) -> Tensor:
    mesh: dist.DeviceMesh = dist.init_device_mesh("cpu", (1,), mesh_dim_names=("data",))
    pieces: DTensor = distribute_tensor(x, mesh, [Shard(0)])
    fully_shard(net, mesh=mesh)
    parallelize_module(net, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
    dcp.load({"net": net.state_dict()}, checkpoint_id="folder")
    whole: Tensor = pieces.redistribute(mesh, [Replicate()]).to_local()
    return whole + pieces.full_tensor()


def doubled(tree: dict[str, Tensor]) -> object:
    leaves, spec = tree_flatten(tree)
    return tree_unflatten(leaves, spec), tree_map(lambda t: 2 * t, tree)
