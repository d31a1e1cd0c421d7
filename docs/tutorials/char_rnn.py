# %% [markdown]
# # Letter by letter
#
# A recurrent network reads a text and learns to guess each next letter; then it writes by guessing on. The text is
# the Zen of Python, which hides in the module `this`. A language model over words is in
# [examples/word_language_model](../../examples/word_language_model/main.py), a transformer in [examples/gpt](../../examples/gpt/main.py).

# %%
import codecs
import contextlib
import io

with contextlib.redirect_stdout(io.StringIO()):  # the module prints itself
    import this

import torch
import torch.nn.functional as F
from torch import nn

_ = torch.manual_seed(0)
text = codecs.decode(this.s, "rot13")
letters = sorted(set(text))
data = torch.tensor([letters.index(letter) for letter in text])
len(text), "".join(letters).strip()


# %% [markdown]
# ## The model
#
# A GRU carries what was read in its state. `state=None` begins with zeros.


# %%
class Writer(nn.Module):
    def __init__(self, letters, width=96):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, letters)

    def forward(self, x, state=None):
        y, state = self.gru(self.embed(x), state)
        return self.out(y), state


# %% [markdown]
# ## Training
#
# Random pieces of 40 letters; the target is the same piece, moved by one.

# %%
model = Writer(len(letters))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(121):
    begin = torch.randint(len(data) - 41, (16, 1))
    pieces = data[begin + torch.arange(41)]
    optimizer.zero_grad()
    loss = F.cross_entropy(model(pieces[:, :-1])[0].flatten(0, 1), pieces[:, 1:].flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: {loss / 0.6931:.2f} bits a letter")
assert loss < 1.5


# %% [markdown]
# ## Writing
#
# The temperature divides the logits: low ones write what is most likely, high ones what is possible.


# %%
@torch.no_grad()
def write(begin, count, temperature):
    said, state = begin, None
    x = torch.tensor([[letters.index(letter) for letter in begin]])
    for _ in range(count):
        logits, state = model(x, state)
        x = torch.multinomial((logits[:, -1] / temperature).softmax(1), 1)
        said += letters[int(x)]
    return said


for temperature in (0.3, 1.0):
    print(f"--- {temperature}\n{write('Beautiful', 120, temperature)}")
