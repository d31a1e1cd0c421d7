"""Names of places, letter by letter: one network tells the part of the world, the other makes up names for it.

The names are those of the time zones in the package tzdata, such as America/Caracas.

python main.py
python main.py --resume --epochs 0 --name Casablanca
"""

from __future__ import annotations

import random
import sys
from importlib import resources
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options

PARTS = ["Africa", "America", "Asia", "Europe", "Pacific"]
LETTERS = "abcdefghijklmnopqrstuvwxyz '-"
END = len(LETTERS)  # stands before and behind a name


def places() -> list[tuple[int, str]]:
    """Pairs of a part of the world and a name."""
    found = set()
    for line in resources.files("tzdata").joinpath("zones").read_text().split():
        part, _, name = line.partition("/")
        name = name.rpartition("/")[2].replace("_", " ").lower()
        if part in PARTS and name and all(letter in LETTERS for letter in name):
            found.add((PARTS.index(part), name))
    return sorted(found)


def letters(name: str) -> Tensor:
    return torch.tensor([LETTERS.index(letter) for letter in name])


class Classifier(nn.Module):
    """The letters of a name (T) to the logits of the part of the world."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed, self.gru, self.out = (
            nn.Embedding(END + 1, width),
            nn.GRU(width, width),
            nn.Linear(width, len(PARTS)),
        )

    def forward(self, name: Tensor) -> Tensor:
        return self.out(self.gru(self.embed(name))[1][-1])


class Author(nn.Module):
    """A part of the world and the letters so far (T) to logits of the letter that follows each (T, letters)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed, self.part = nn.Embedding(END + 1, width), nn.Embedding(len(PARTS), width)
        self.gru, self.out = nn.GRU(width, width), nn.Linear(width, END + 1)

    def forward(self, part: Tensor, name: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, state = self.gru(self.embed(name), self.part(part).unsqueeze(0) if state is None else state)
        return self.out(y), state

    @torch.no_grad()
    def write(self, part: int, temperature: float, longest: int = 20) -> str:
        said, letter, state = "", torch.tensor([END]), None
        for _ in range(longest):
            logits, state = self(torch.tensor(part), letter, state)
            letter = torch.multinomial((logits[0] / temperature).softmax(0), 1)
            if int(letter) == END:
                break
            said += LETTERS[int(letter)]
        return said.title()


def main() -> float:
    parser = options(__doc__, "char_rnn.pt", epochs=12)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--temperature", type=float, default=0.6)
    parser.add_argument("--name", help="tell where this name is from")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    known = places()
    random.Random(0).shuffle(known)
    test, train = known[: len(known) // 8], known[len(known) // 8 :]
    classifier, author = Classifier(args.width), Author(args.width)
    adam = optim.Adam([*classifier.parameters(), *author.parameters()], lr=args.lr)
    course = Course(args, classifier=classifier, author=author, optimizer=adam)
    right = 0.0
    for _ in course.epochs():
        total = torch.zeros(2)
        order = torch.randperm(len(train)).tolist()
        count = 0
        for n in course.batches(order, len(order)):
            part, name = torch.tensor(train[n][0]), letters(train[n][1])
            end = torch.tensor([END])
            told = F.cross_entropy(classifier(name), part)
            wrote = F.cross_entropy(author(part, torch.cat([end, name]))[0], torch.cat([name, end]))
            adam.zero_grad()
            (told + wrote).backward()
            nn.utils.clip_grad_norm_([*classifier.parameters(), *author.parameters()], 1.0)
            adam.step()
            total += torch.stack([told.detach(), wrote.detach()])
            count += 1
        with torch.no_grad():
            right = sum(int(classifier(letters(name)).argmax()) == part for part, name in test) / len(test)
        told_mean, wrote_mean = (total / count).tolist()
        course.report(classifier=told_mean, author=wrote_mean, right=right)

    for number, region in enumerate(PARTS):
        print(f"{region}: " + ", ".join(author.write(number, args.temperature) for _ in range(4)))
    if args.name:
        with torch.no_grad():
            chances = classifier(letters("".join(c for c in args.name.lower() if c in LETTERS))).softmax(0)
        print(f"{args.name}: " + ", ".join(f"{region} {chance:.0%}" for region, chance in zip(PARTS, chances.tolist())))
    return right


if __name__ == "__main__":
    main()
