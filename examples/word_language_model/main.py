"""A recurrent language model over words, on the language reference that comes inside Python.

python main.py                     # trains; perplexity on text it has not seen
python main.py --resume --epochs 0 --generate 60
"""

from __future__ import annotations

import collections
import math
import re
import sys
from pathlib import Path
from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options

State = tuple[Tensor, Tensor]


class Words:
    """The words of a text that occur often enough, numbered; number 0 stands for all others."""

    def __init__(self, text: str, least: int) -> None:
        # A row of equal signs, as tables are drawn with, is one word.
        found = [match[0] for match in re.finditer(r"\w+|([^\w\s])\1*", text.lower())]
        counts = collections.Counter(found)
        self.names = ["<rare>", *sorted(word for word, count in counts.items() if count >= least)]
        numbers = {word: number for number, word in enumerate(self.names)}
        self.text = torch.tensor([numbers.get(word, 0) for word in found])


class Model(nn.Module):
    """Words (T, N) to logits of the next word (T, N, words). Input and output share their weight (Press 2016)."""

    def __init__(self, words: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout if layers > 1 else 0.0)
        self.out = nn.Linear(width, words)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.out.weight = self.embed.weight

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        y, state = self.lstm(self.drop(self.embed(x)), state)
        return self.out(self.drop(y)), state


def columns(text: Tensor, count: int) -> Tensor:
    """A text cut into columns that are read side by side, (T, count)."""
    return text[: len(text) // count * count].view(count, -1).t().contiguous()


def windows(data: Tensor, length: int) -> list[tuple[Tensor, Tensor]]:
    """What is read and what follows, piece by piece."""
    return [(data[i : i + length], data[i + 1 : i + 1 + length]) for i in range(0, len(data) - length - 1, length)]


@torch.no_grad()
def perplexity(model: Model, data: Tensor, length: int) -> float:
    model.eval()
    total, state = [], None
    for x, y in windows(data, length):
        logits, state = model(x, state)
        total.append(F.cross_entropy(logits.flatten(0, 1), y.flatten()))
    return math.exp(torch.stack(total).mean().item())


@torch.no_grad()
def generated(model: Model, words: Words, count: int, temperature: float) -> str:
    model.eval()
    word, state, said = torch.randint(1, len(words.names), (1, 1)), None, []
    for _ in range(count):
        logits, state = model(word, state)
        chances = (logits.flatten() / temperature).softmax(0)
        chances[0] = 0  # not the rare ones, which have no name
        word = torch.multinomial(chances, 1).view(1, 1)
        said.append(words.names[int(word)])
    return re.sub(r" ([.,;:)\]])", r"\1", " ".join(said))


def main() -> float:
    parser = options(__doc__, "word_language_model.pt", epochs=6)
    parser.add_argument("--least", type=int, default=5, help="words that occur less often are one word")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--length", type=int, default=32, help="words that gradients go back through")
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--clip", type=float, default=0.5, help="greatest norm of the gradient")
    parser.add_argument("--generate", type=int, default=40, metavar="WORDS", help="words to write in the end")
    parser.add_argument("--temperature", type=float, default=0.8)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    words = Words("\n".join(topics[name] for name in sorted(topics)), args.least)
    cut = len(words.text) * 9 // 10
    train, unseen = columns(words.text[:cut], args.batch_size), columns(words.text[cut:], 4)
    print(f"{len(words.text)} words, {len(words.names)} different")
    model = Model(len(words.names), args.width, args.layers, args.dropout)
    adam = optim.Adam(model.parameters(), lr=args.lr)
    course = Course(args, model=model, optimizer=adam)
    for _ in course.epochs():
        model.train()
        pieces = windows(train, args.length)
        state: State | None = None
        losses = []
        for x, y in course.batches(pieces, len(pieces)):
            if state is not None:  # the state goes on, its gradient does not
                state = (state[0].detach(), state[1].detach())
            adam.zero_grad()
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            adam.step()
            losses.append(loss.item())
        course.report(loss=sum(losses) / len(losses), perplexity=perplexity(model, unseen[:2000], args.length))
    if args.generate:
        print(generated(model, words, args.generate, args.temperature))
    return course.history[-1]["perplexity"] if course.history else float("nan")


if __name__ == "__main__":
    main()
