# %% [markdown]
# # Learning by doing: deep Q-learning
#
# A walker on a grid of 5 by 5 is looking for the way to the goal, past walls that it cannot see. Nobody shows it the way; it tries, and a network
# learns what each move is worth. Policy gradients, on a cart with a pole, are in [examples/reinforce](../../examples/reinforce/main.py).

# %%
import random
from collections import deque

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn

_ = torch.manual_seed(0)
random.seed(0)

# %% [markdown]
# ## The world
#
# Each move costs 0.04; the goal is worth 1. Walls and the border leave the walker where it is.

# %%
SIZE, WALLS, GOAL = 5, {(1, 1), (1, 2), (1, 3), (3, 1), (3, 2), (3, 4)}, (4, 4)
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


def move(place, action):
    y, x = (a + b for a, b in zip(place, MOVES[action]))
    free = 0 <= y < SIZE and 0 <= x < SIZE and (y, x) not in WALLS
    place = (y, x) if free else place
    return place, 1.0 if place == GOAL else -0.04, place == GOAL


def seen(place):
    """The place as a network sees it: one of 25."""
    return F.one_hot(torch.tensor(place[0] * SIZE + place[1]), SIZE**2).float()


# %% [markdown]
# ## The model, and what it should say
#
# Q(s, a) is what is still to come after the move a from s. It obeys Bellman's equation: the reward, plus what the best next move is
# worth, discounted. The right side is computed by an older copy of the network, so that the target stands still for a while.

# %%
GAMMA = 0.95
q = nn.Sequential(nn.Linear(SIZE**2, 64), nn.ReLU(), nn.Linear(64, 4))
old = nn.Sequential(nn.Linear(SIZE**2, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(q.parameters(), lr=5e-3)
memory = deque(maxlen=2000)


def learn():
    s, a, r, then, done = (torch.stack(column) for column in zip(*random.sample(memory, 64)))
    with torch.no_grad():
        target = r + GAMMA * (1 - done) * old(then).amax(1)
    value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    optimizer.zero_grad()
    F.smooth_l1_loss(value, target).backward()
    optimizer.step()


# %% [markdown]
# ## Doing, remembering, learning
#
# At first the walker moves at random, later mostly as the network says. It learns from moves out of its memory, not only from the last one.

# %%
lengths = []
for episode in range(60):
    old.load_state_dict(q.state_dict())
    place, done, steps = (0, 0), False, 0
    while not done and steps < 40:
        chance = max(0.1, 1 - episode / 30)
        with torch.no_grad():
            action = random.randrange(4) if random.random() < chance else int(q(seen(place)).argmax())
        then, reward, done = move(place, action)
        memory.append((seen(place), torch.tensor(action), torch.tensor(reward), seen(then), torch.tensor(float(done))))
        place, steps = then, steps + 1
        if len(memory) > 64:
            learn()
    lengths.append(steps)
print("steps to the goal, first and last episodes:", lengths[:5], lengths[-5:])

# %% [markdown]
# ## What it learned
#
# Without random moves it takes the shortest way, of eight steps.

# %%
place, way = (0, 0), [(0, 0)]
while place != GOAL and len(way) < 30:
    with torch.no_grad():
        place, _, _ = move(place, int(q(seen(place)).argmax()))
    way.append(place)
print(way)
assert len(way) == 9

# %%
with torch.no_grad():
    worth = q(torch.eye(SIZE**2)).amax(1).view(SIZE, SIZE)
for wall in WALLS:
    worth[wall] = float("nan")
figure, axes = plt.subplots(figsize=(3.5, 3))
drawn = axes.imshow(worth, cmap="viridis")
axes.plot([x for _, x in way], [y for y, _ in way], "w.-")
_ = figure.colorbar(drawn, label="worth of the best move")
