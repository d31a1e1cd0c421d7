"""What tensors, storages, dtypes and devices have besides operators: type checkers must find nothing here."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

t = torch.ones(2, 3)
i = torch.tensor([0, 1])
version: str = torch.__version__
benchmark: bool = torch.backends.cudnn.benchmark
torch.backends.cudnn.deterministic = True

# Making tensors
torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, device="cpu", requires_grad=True)
torch.as_tensor([1, 2], dtype=torch.int64)
torch.from_numpy(np.zeros(3))
torch.zeros(2, 3)
torch.zeros((2, 3), dtype=torch.half)
torch.zeros(t.shape)
torch.zeros(t.size(0), 4, device=t.device)
torch.ones(*t.shape)
torch.empty(2, dtype=torch.uint8)
torch.full((2, 2), 0.5)
torch.eye(3)
torch.arange(0, 10, 2)
torch.linspace(0, 1, steps=5)
torch.rand(2, 3)
torch.randn(2, 3, requires_grad=True)
torch.randint(0, 10, (2, 3))
torch.randperm(10)
torch.range(0, 4)
torch.bartlett_window(4)
torch.blackman_window(4)
torch.hamming_window(4, True)
torch.hann_window(4)
torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
torch.zeros_like(t)
torch.empty_like(t, dtype=torch.double)
torch.FloatTensor(2, 3)
torch.LongTensor([1, 2])
torch.ByteTensor(3)
torch.DoubleTensor(2)
torch.HalfTensor(2)
torch.IntTensor(2)
torch.ShortTensor(2)
torch.CharTensor(2)

# Attributes, and the numbers they give
shape: torch.Size = t.shape
rows: int = t.shape[0]
columns: int = t.size(1)
dims: int = t.dim() + t.ndimension() + t.ndim
count: int = t.numel() + t.nelement() + t.element_size() * t.storage_offset() + t.data_ptr()
strides: tuple[int, ...] = t.stride()
first: int = t.stride(0)
dtype: torch.dtype = t.dtype
is_float: bool = dtype.is_floating_point
device: torch.device = t.device
kind: str = device.type
place: int | None = device.index
layout: torch.layout = t.layout
answers: list[bool] = [
    t.is_cuda,
    t.is_contiguous(),
    t.is_shared(),
    t.is_pinned(),
    t.is_signed(),
    t.is_set_to(t),
    t.is_leaf,
]
gradient: Tensor | None = t.grad
data: Tensor = t.data
history: Any = t.grad_fn
number: float = t.sum().item()
values: list[Any] = t.tolist()
array: np.ndarray[Any, Any] = t.numpy()
name: str = t.type()
t.get_device()
t.storage()
t.storage_type()

# Python's own operators
total: Tensor = t + 1 - t * 2 / t // 3 % 4**t
product: Tensor = t @ t.t()
flags: Tensor = (t > 0) & (t <= 1) | ~(t == 1) ^ (t != 0)
negative: Tensor = -abs(t)
reverse: Tensor = 1 - t + 2 * t
t += 1
t -= t
t *= 2
t /= 3
t **= 2
row: Tensor = t[0]
part: Tensor = t[:, 1:] + t[..., None, 0] + t[i] + t[t > 0].sum() + t[0, 1]
t[0] = 1.0
t[:, 1] = t[:, 0]
t[t > 0] = 0
for one in t:
    print(one.shape, len(one), bool(one.all()), float(one[0]), int(one[0]))
matrix, vector = torch.ones(2, 2), torch.ones(2)

# Casts, moves and copies
t.float().double().half().int().long().short().char().byte().bool()
t.to(torch.float64)
t.to("cpu", non_blocking=True)
t.to(device=device, dtype=torch.float32, copy=True)
t.to(matrix)
t.cpu()
t.type(torch.float64)
t.type("torch.DoubleTensor")
t.type_as(matrix)
t.new_tensor([1, 2])
t.new_zeros(2, 3)
t.new_ones((2,), dtype=torch.int64)
t.clone().copy_(t, non_blocking=False)
t.detach().requires_grad_().detach_()
t.share_memory_()
t.apply_(lambda x: x + 1)
t.map_(t, lambda x, y: x + y)
t.set_(t)
t.random_()
t.random_(0, 10)
t.resize_as_(t)

# Several results
largest, at = torch.max(t, dim=1)
most = t.max(1)
print(most.values.shape, most.indices.tolist())
ordered, order = torch.sort(t, dim=0, descending=True)
u, s, v = torch.svd(t)
q, r = torch.qr(t)
best, where = t.topk(2)
pieces: tuple[Tensor, ...] = torch.split(t, 1)
low, high = t.chunk(2, dim=0)
found: Tensor = torch.nonzero(t)
places: tuple[Tensor, ...] = torch.nonzero(t, as_tuple=True)
grid_x, grid_y = torch.meshgrid(vector, vector, indexing="ij")
wide, tall = torch.broadcast_tensors(t, t)
sign, logarithm = torch.slogdet(matrix)
mixed: Tensor = torch.where(t > 0, t, 0.0)
text: Tensor = torch.einsum("ij,jk->ik", matrix, matrix)
joined: Tensor = torch.cat([t, t], dim=1) + torch.stack((t, t)).sum(dim=(0, 1)) + torch.hstack([t, t]).mean()
solution: Tensor = torch.linalg.solve(matrix, vector) + torch.linalg.norm(t) + torch.linalg.inv(matrix)[0]
spectrum: Tensor = torch.fft.fft(t, dim=1) + torch.special.expit(t)

# Settings
torch.manual_seed(0)
seed: int = torch.initial_seed()
state: Tensor = torch.get_rng_state()
torch.set_rng_state(state)
torch.set_num_threads(torch.get_num_threads())
torch.set_default_dtype(torch.get_default_dtype())
torch.set_printoptions(precision=3, sci_mode=False)
torch.set_flush_denormal(False)
generator = torch.Generator().manual_seed(1)
torch.rand(2, generator=generator)
limits: tuple[float, float, int] = (
    torch.finfo(torch.float32).eps,
    torch.finfo(torch.float32).max,
    torch.iinfo(torch.int8).max,
)
if torch.cuda.is_available():
    torch.cuda.synchronize()
    device_count: int = torch.cuda.device_count()
    torch.cuda.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    torch.cuda.empty_cache()
    memory: int = torch.cuda.memory_allocated() + torch.cuda.max_memory_allocated(0)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    elapsed: float = start.elapsed_time(end)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        t.cuda(non_blocking=True)
    stream.wait_stream(torch.cuda.current_stream())


def is_it(x: Tensor | int) -> Tensor:
    return x if torch.is_tensor(x) else torch.tensor(x)


def mean(x: Tensor) -> float:
    return x.mean().item()


parameter: nn.Parameter = nn.Parameter(t)
print(is_it(parameter), mean(t))
