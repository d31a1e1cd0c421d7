# %% [markdown]
# # An hour with torch
#
# Tensors, gradients, a network, training: the four things that everything else is made of.

# %%
import torch
from matplotlib import pyplot as plt
from torch import nn

_ = torch.manual_seed(0)

# %% [markdown]
# ## Tensors
#
# A tensor is an array with a dtype. What NumPy calls an axis is a dim.

# %%
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
x.shape, x.dtype

# %%
x.sum(dim=0), x * 10, x @ x.T

# %% [markdown]
# A slice is a view: it shares memory with what it was cut from.

# %%
first = x[0]
first[:] = 0
x

# %% [markdown]
# ## Gradients
#
# A tensor that requires gradients is watched. `backward` computes how the result changes with it.

# %%
w = torch.tensor(2.0, requires_grad=True)
loss = (w * 3 - 9) ** 2
loss.backward()
w.grad  # 2 (3 w - 9) 3

# %% [markdown]
# A step against the gradient makes the loss smaller. Repeated, this is all of learning.

# %%
for _ in range(20):
    loss = (w * 3 - 9) ** 2
    (slope,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w -= 0.02 * slope
w

# %% [markdown]
# ## A network
#
# Layers hold parameters and are called like functions. This one maps the plane to two scores.

# %%
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
sum(p.numel() for p in net.parameters())

# %% [markdown]
# The data: two spirals, which no straight line can part.

# %%
turn = torch.linspace(0.5, 3.0, 200) * torch.pi
arm = torch.stack([turn * turn.cos(), turn * turn.sin()], 1) / 10
points = torch.cat([arm, -arm]) + 0.02 * torch.randn(400, 2)
labels = torch.arange(2).repeat_interleave(200)

# %% [markdown]
# ## Training
#
# The same five lines in every program: clear, compute, compare, differentiate, step.

# %%
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
losses = []
for _ in range(250):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(points), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
right = (net(points).argmax(1) == labels).float().mean().item()
print(f"loss {losses[0]:.2f} -> {losses[-1]:.3f}, {right:.1%} of the points right")
assert right > 0.95

# %%
grid = torch.linspace(-1.1, 1.1, 100)
plane = torch.cartesian_prod(grid, grid)
with torch.no_grad():
    score = net(plane).softmax(1)[:, 1].view(100, 100)
figure, axes = plt.subplots(figsize=(4, 4))
axes.contourf(grid, grid, score.T, levels=20, cmap="RdBu", alpha=0.6)
axes.scatter(*points.T, c=labels, cmap="RdBu", s=8, edgecolors="k", linewidths=0.2)
axes.set_aspect("equal")

# %% [markdown]
# ## Keeping it
#
# `state_dict` gives names and tensors; a file of them loads into any network of the same shape.

# %%
import os  # noqa: E402
import tempfile  # noqa: E402

path = os.path.join(tempfile.mkdtemp(), "spirals.pt")
torch.save(net.state_dict(), path)
net.load_state_dict(torch.load(path))

# %% [markdown]
# Next: [tensors](../concepts/tensors.md) and [autograd](../concepts/autograd.md) in more depth, and the
# [examples](../../examples/README.md), which are whole programs.
