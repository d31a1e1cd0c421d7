"""From "3rd of march, 1987" to "1987-03-03": an encoder, and a decoder that attends to it (Bahdanau 2014).

The dates are made here, written in many ways.

python main.py --plot attention.png    # where the decoder looked for each letter that it wrote
"""

from __future__ import annotations

import datetime
import random
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options
from torch.utils.data import DataLoader, TensorDataset

LETTERS = " abcdefghijklmnopqrstuvwxyz0123456789,-/."  # the blank also fills up
LONGEST, LENGTH, BEGIN = 28, 10, len(LETTERS)


def written(day: datetime.date, chance: random.Random) -> str:
    """A date in one of the ways that people write it."""
    ending = "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    month = day.strftime(chance.choice(["%B", "%b"])).lower()
    return chance.choice(
        [
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{day.day}{ending} of {month}, {day.year}",
            f"{day.day}.{day.month}.{day.year}",
            f"{day.year}/{day.month:02}/{day.day:02}",
            day.strftime("%A, %d %b %Y").lower(),
        ]
    )


def numbers(text: str, length: int) -> list[int]:
    return [LETTERS.index(letter) for letter in text.ljust(length)]


def dates(count: int, seed: int) -> TensorDataset:
    """Pairs of how a date is written and of its ISO form, as letters: (N, 28) and (N, 10)."""
    chance = random.Random(seed)
    days = [datetime.date.fromordinal(chance.randint(693596, 767000)) for _ in range(count)]
    asked = torch.tensor([numbers(written(day, chance)[:LONGEST], LONGEST) for day in days])
    return TensorDataset(asked, torch.tensor([numbers(day.isoformat(), LENGTH) for day in days]))


class Translator(nn.Module):
    """Letters (N, S) to logits of letters (N, T, letters), and the attention (N, T, S) with which they were written."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS) + 1, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.key = nn.Linear(2 * width, width)
        self.query = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.cell = nn.GRUCell(3 * width, width)
        self.first = nn.Linear(width, width)
        self.out = nn.Linear(3 * width, len(LETTERS))

    def forward(self, asked: Tensor, answer: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """With an answer the decoder sees the right letter before each; without it, the one that it wrote."""
        read, last = self.encoder(self.embed(asked))  # (N, S, 2 width)
        keys, state = self.key(read), torch.tanh(self.first(last[1]))
        letter = asked.new_full((len(asked),), BEGIN)
        logits, attention = [], []
        for t in range(LENGTH):
            weight = self.score(torch.tanh(keys + self.query(state).unsqueeze(1))).softmax(1)  # (N, S, 1)
            context = (weight * read).sum(1)
            state = self.cell(torch.cat([self.embed(letter), context], 1), state)
            logits.append(self.out(torch.cat([state, context], 1)))
            attention.append(weight.squeeze(2))
            letter = logits[-1].argmax(1) if answer is None else answer[:, t]
        return torch.stack(logits, 1), torch.stack(attention, 1)


def main() -> float:
    parser = options(__doc__, "seq2seq.pt", epochs=8)
    parser.add_argument("--dates", type=int, default=6000, help="dates to learn from")
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the attention of some dates")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train, test = dates(args.dates, seed=1), dates(500, seed=2)
    model = Translator(args.width)
    adam = optim.Adam(model.parameters(), lr=args.lr)
    course = Course(args, model=model, optimizer=adam)
    asked, answers = test.tensors
    right = 0.0
    for _ in course.epochs():
        loader: DataLoader = DataLoader(train, args.batch_size, shuffle=True)
        losses = []
        for x, y in course.batches(loader, len(loader)):
            adam.zero_grad()
            loss = F.cross_entropy(model(x, y)[0].flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            losses.append(loss.item())
        with torch.no_grad():
            right = (model(asked)[0].argmax(2) == answers).all(1).double().mean().item()
        course.report(loss=sum(losses) / len(losses), right=right)

    with torch.no_grad():
        logits, attention = model(asked[:4])
    read = ["".join(LETTERS[n] for n in x).strip() for x in asked[:4].tolist()]
    wrote = ["".join(LETTERS[n] for n in y) for y in logits.argmax(2).tolist()]
    print(*map(" -> ".join, zip(read, wrote)), sep="\n")
    if args.plot:
        import pictures

        pictures.attention(args.plot, list(zip(read, wrote, attention)))
    return right


if __name__ == "__main__":
    main()
