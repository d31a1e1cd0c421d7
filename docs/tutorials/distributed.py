# %% [markdown]
# # Training in several processes
#
# Three processes learn one curve together. Each has a copy of the network and its share of the data; while backward goes on,
# gradients are averaged, so that all copies take the same steps. The same lines run on many machines; the whole program, with
# `torchrun`, checkpoints and sharded parameters, is [examples/distributed](../../examples/distributed/main.py).

# %%
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

RANKS = 3
folder = tempfile.mkdtemp()

# %% [markdown]
# ## Starting ranks
#
# A rank is a process with a number. All meet at a store, here a file; `torchrun` starts ranks on one machine or many and tells
# them where. What a rank finds out comes back through shared memory.


# %%
def start(work, *arguments):
    """Run ``work(rank, *arguments)`` in every rank of a group."""

    def rank_main(rank):
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"file://{folder}/{work.__name__}", rank=rank, world_size=RANKS)
        work(rank, *arguments)
        dist.destroy_process_group()

    ranks = [mp.get_context("fork").Process(target=rank_main, args=(rank,)) for rank in range(RANKS)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    return [process.exitcode for process in ranks]


# %% [markdown]
# ## Collectives
#
# All ranks call the same operation: each brings a tensor, and each has the result. Here each brings its number.


# %%
def sums(rank, results):
    x = torch.tensor([float(rank)])
    dist.all_reduce(x)  # the sum over the ranks, on each of them
    results[rank] = x


results = torch.zeros(RANKS, 1).share_memory_()
start(sums, results), results.flatten()

# %% [markdown]
# ## The network and the data
#
# A sampler gives each rank its share of the points, another one in each epoch.

# %%
x = torch.linspace(-3, 3, 300).unsqueeze(1)
data = TensorDataset(x, torch.sin(2 * x))


def made_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


# %% [markdown]
# ## Training
#
# `DistributedDataParallel` is all that changes in the loop.


# %%
def train(rank, losses, curve):
    net = DistributedDataParallel(made_net())
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    sampler = DistributedSampler(data, RANKS, rank)
    for epoch in range(len(losses[rank])):
        sampler.set_epoch(epoch)
        for inputs, wanted in DataLoader(data, batch_size=20, sampler=sampler):
            loss = nn.functional.mse_loss(net(inputs), wanted)
            adam.zero_grad()
            loss.backward()  # averages gradients while it goes on
            adam.step()
        losses[rank, epoch] = loss.detach()
    if rank == 0:
        curve.copy_(net.module(x).detach())


losses, curve = torch.zeros(RANKS, 40).share_memory_(), torch.zeros_like(x).share_memory_()
start(train, losses, curve), losses[:, -1].max() < 0.1

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
left.semilogy(losses.t())
left.set_title("loss of each rank, on its own points")
right.plot(x, torch.sin(2 * x), x, curve)
right.set_title("the curve, and what was learned")

# %% [markdown]
# ## When a rank dies
#
# The others do not wait for ever: their call raises, with the reason. `torchrun --max-restarts` starts them again from the last
# checkpoint.


# %%
def dying(rank, said):
    if rank == 1:
        os._exit(3)
    try:
        dist.all_reduce(torch.zeros(1))
    except dist.DistBackendError as error:
        text = str(error).encode()[:100]
        said[rank, : len(text)] = torch.tensor(list(text), dtype=torch.uint8)


said = torch.zeros(RANKS, 100, dtype=torch.uint8).share_memory_()
codes = start(dying, said)
codes, "rank 1" in bytes(said[0].tolist()).decode()
