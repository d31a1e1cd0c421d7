# %% [markdown]
# # From sequence to sequence
#
# A network reads a row of digits and writes it sorted. It has to look at the whole row before it writes, and to find the right
# place for each digit: that is what attention is for. A program with dates is [examples/seq2seq](../../examples/seq2seq/main.py).

# %%
import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn

_ = torch.manual_seed(0)


# %% [markdown]
# ## The model
#
# The encoder turns each digit into a vector that knows its surroundings. At each step the decoder compares its state with all of
# them; their mean, weighted by the likeness, is what it sees.


# %%
class Sorter(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(11, width)  # ten digits, and the sign to begin
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.cell = nn.GRUCell(2 * width, width)
        self.query = nn.Linear(width, width)
        self.out = nn.Linear(2 * width, 10)

    def forward(self, asked, answer=None):
        memory, state = self.encoder(self.embed(asked))  # (N, T, width)
        state, digit = state[0], asked.new_full((len(asked),), 10)
        logits, attention = [], []
        for t in range(asked.shape[1]):
            weight = (memory @ self.query(state).unsqueeze(2)).softmax(1)  # (N, T, 1)
            context = (weight * memory).sum(1)
            state = self.cell(torch.cat([self.embed(digit), context], 1), state)
            logits.append(self.out(torch.cat([state, context], 1)))
            attention.append(weight.squeeze(2))
            digit = logits[-1].argmax(1) if answer is None else answer[:, t]
        return torch.stack(logits, 1), torch.stack(attention, 1)


# %% [markdown]
# ## Training
#
# While it learns, the decoder is told the right digit after each step (teacher forcing); later it goes on from its own.

# %%
model = Sorter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(301):
    asked = torch.randint(10, (64, 6))
    answer = asked.sort(1).values
    optimizer.zero_grad()
    loss = F.cross_entropy(model(asked, answer)[0].flatten(0, 1), answer.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss:.3f}")

# %%
asked = torch.randint(10, (200, 6))
with torch.no_grad():
    logits, attention = model(asked)
written = logits.argmax(2)
right = (written == asked.sort(1).values).float().mean().item()
print(asked[0].tolist(), "->", written[0].tolist())
print(f"{right:.1%} of the digits right")
assert right > 0.8

# %% [markdown]
# Where it looked for each digit that it wrote:

# %%
figure, axes = plt.subplots(figsize=(3, 3))
axes.imshow(attention[0], cmap="Blues")
axes.set_xticks(range(6), asked[0].tolist())
axes.set_yticks(range(6), written[0].tolist())
_ = axes.set(xlabel="read", ylabel="written")
