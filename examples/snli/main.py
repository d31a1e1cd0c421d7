"""Whether a sentence follows from another, contradicts it, or neither: a classifier of pairs in SNLI's manner.

The pairs are made from a small grammar, whose rules say the answer.  Both sentences are read by one recurrent network,
and what it makes of them is compared (Bowman 2015, Mou 2016).

python main.py
python main.py --premise "two dogs sleep" --hypothesis "some animals sleep"
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options

ANSWERS = ["follows", "neither", "contradicts"]
KINDS = {
    "dogs": "animals", "cats": "animals", "horses": "animals", "girls": "people", "boys": "people", "men": "people",
    "women": "people",
}  # fmt: skip
DOINGS = {"sleep": "rest", "doze": "rest", "run": "move", "walk": "move", "swim": "move", "sit": "rest"}
NUMBERS = ["two", "three", "four"]
PLACES = ["in a park", "on a beach", "near a house"]
WORDS = sorted(
    {*KINDS, *KINDS.values(), *DOINGS, *DOINGS.values(), *NUMBERS, "some", "no"}
    | {w for p in PLACES for w in p.split()}
)


def pair(dice: random.Random) -> tuple[str, str, int]:
    """A premise, a hypothesis, and the number of the answer."""
    who, does, place = dice.choice(list(KINDS)), dice.choice(list(DOINGS)), dice.choice(PLACES)
    premise = f"{dice.choice(NUMBERS)} {who} {does} {place}"
    answer = dice.randrange(3)
    if answer == 0:  # more general, or less said
        who, does = dice.choice([who, KINDS[who]]), dice.choice([does, DOINGS[does]])
        return premise, f"some {who} {does}" + dice.choice(["", f" {place}"]), answer
    if answer == 1:  # about others, or about something that was not said
        others = [other for other, kind in KINDS.items() if kind != KINDS[who]]
        return premise, f"{dice.choice(NUMBERS)} {dice.choice(others)} {dice.choice(list(DOINGS))}", answer
    if dice.random() < 0.5:
        return premise, f"no {dice.choice([who, KINDS[who]])} {dice.choice([does, DOINGS[does]])}", answer
    opposite = "move" if DOINGS[does] == "rest" else "rest"
    return premise, f"{premise.split()[0]} {who} {opposite} {place}", answer


def encode(sentence: str) -> Tensor:
    """Numbers of words, from 1; 0 is padding."""
    unknown = [word for word in sentence.split() if word not in WORDS]
    if unknown:
        raise SystemExit(f"{' '.join(unknown)}: the words are {' '.join(WORDS)}")
    return torch.tensor([WORDS.index(word) + 1 for word in sentence.split()])


class Reader(nn.Module):
    """Both sentences as vectors u and v, and the answer from u, v, |u - v| and u v."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(len(WORDS) + 1, width, padding_idx=0)
        self.read = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.answer = nn.Sequential(nn.Linear(8 * width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3))

    def vector(self, sentences: list[Tensor]) -> Tensor:
        lengths = torch.tensor([len(s) for s in sentences])
        packed = pack_padded_sequence(
            self.words(pad_sequence(sentences, batch_first=True)), lengths, batch_first=True, enforce_sorted=False
        )
        _, (last, _) = self.read(packed)
        return torch.cat([last[0], last[1]], 1)

    def forward(self, premises: list[Tensor], hypotheses: list[Tensor]) -> Tensor:
        u, v = self.vector(premises), self.vector(hypotheses)
        return self.answer(torch.cat([u, v, (u - v).abs(), u * v], 1))


def pairs(count: int, seed: int) -> tuple[list[Tensor], list[Tensor], Tensor]:
    dice = random.Random(seed)
    made = [pair(dice) for _ in range(count)]
    return [encode(p) for p, _, _ in made], [encode(h) for _, h, _ in made], torch.tensor([a for _, _, a in made])


def main() -> float:
    parser = options(__doc__, "snli.pt", epochs=6)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--premise", default="two dogs sleep in a park")
    parser.add_argument("--hypothesis", default="some animals rest")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    premises, hypotheses, answers = pairs(args.pairs, args.seed)
    unseen = pairs(max(60, args.pairs // 10), args.seed + 1)
    net = Reader(args.width)
    adam = optim.Adam(net.parameters(), lr=args.lr)
    course = Course(args, net=net, optimizer=adam)
    right = 0.0
    for _ in course.epochs():
        net.train()
        total, count = 0.0, 0
        order = torch.randperm(args.pairs).split(args.batch_size)
        for batch in course.batches(order, len(order)):
            chosen = batch.tolist()
            logits = net([premises[i] for i in chosen], [hypotheses[i] for i in chosen])
            loss = F.cross_entropy(logits, answers[batch])
            adam.zero_grad()
            loss.backward()
            adam.step()
            total, count = total + loss.item() * len(chosen), count + len(chosen)
        net.eval()
        with torch.no_grad():
            right = (net(unseen[0], unseen[1]).argmax(1) == unseen[2]).float().mean().item()
        course.report(loss=total / count, unseen_right=right)
    net.eval()
    with torch.no_grad():
        chances = net([encode(args.premise)], [encode(args.hypothesis)]).softmax(1)[0]
    said = ", ".join(f"{name} {chance:.0%}" for name, chance in zip(ANSWERS, chances.tolist()))
    print(f"{args.premise!r}, therefore {args.hypothesis!r}: {said}")
    return right


if __name__ == "__main__":
    main()
