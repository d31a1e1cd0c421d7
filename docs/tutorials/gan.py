# %% [markdown]
# # Two networks against each other
#
# A generator makes points out of noise; a critic tells them from real ones. Each learns from the other, until the made points lie
# where the real ones do. With convolutions and digits: [examples/dcgan](../../examples/dcgan/main.py).

# %%
import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn

_ = torch.manual_seed(0)


def real(count):
    """Points on a ring of radius 1, with some noise."""
    angle = 2 * torch.pi * torch.rand(count)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(count, 2)


# %% [markdown]
# ## The models


# %%
def network(inputs, outputs, width=64):
    layers = [nn.Linear(inputs, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Linear(width, outputs))


generator, critic = network(4, 2), network(2, 1)
g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
c_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))


# %% [markdown]
# ## Training
#
# The critic should call real points 1 and made ones 0. The generator should make points that the critic calls 1: its gradient comes
# through the critic. `detach` keeps the critic's loss from reaching the generator.


# %%
def wrong(logits, label):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))


for step in range(1001):
    points, made = real(128), generator(torch.randn(128, 4))
    c_optimizer.zero_grad()
    c_loss = wrong(critic(points), 1.0) + wrong(critic(made.detach()), 0.0)
    c_loss.backward()
    c_optimizer.step()

    g_optimizer.zero_grad()
    g_loss = wrong(critic(made), 1.0)
    g_loss.backward()
    g_optimizer.step()
    if step % 250 == 0:
        radius = made.detach().norm(dim=1)
        print(
            f"step {step}: critic {c_loss:.2f}, generator {g_loss:.2f}, radius {radius.mean():.2f} +- {radius.std():.2f}"
        )

# %%
with torch.no_grad():
    made = generator(torch.randn(500, 4))
radius = made.norm(dim=1)
assert 0.8 < radius.mean() < 1.2 and radius.std() < 0.3
figure, axes = plt.subplots(figsize=(4, 4))
axes.scatter(*real(500).T, s=4, label="real")
axes.scatter(*made.T, s=4, label="made")
axes.legend(loc="center")
axes.set_aspect("equal")
