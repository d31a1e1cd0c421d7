"""A small GPT (Radford 2018) over letters, on the language reference that comes inside Python.

python main.py                                             # a few minutes
python main.py --resume --epochs 0 --prompt "The import statement"
"""

from __future__ import annotations

import sys
from pathlib import Path
from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options


class Block(nn.Module):
    """Attention to what came before, then a network at each place; both are added to what goes through (N, T, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        n, t, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # each (N, heads, T, *)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(n, t, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Letters (N, T) to logits of the next one at each place (N, T, letters)."""

    def __init__(self, letters: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.context = context
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, 0, 0.02)

    def forward(self, x: Tensor) -> Tensor:
        h = self.letter(x) + self.place(torch.arange(x.shape[1]))
        return self.out(self.norm(self.blocks(h)))

    @torch.no_grad()
    def write(self, x: Tensor, count: int, temperature: float) -> Tensor:
        """The letters x (T) and as many more as are asked for."""
        for _ in range(count):
            logits = self(x[-self.context :].unsqueeze(0))[0, -1]
            x = torch.cat([x, torch.multinomial((logits / temperature).softmax(0), 1)])
        return x


def batch(text: Tensor, size: int, context: int) -> tuple[Tensor, Tensor]:
    """Random pieces of a text and what follows each letter, (N, T) both."""
    begin = torch.randint(len(text) - context, (size, 1))
    pieces = text[begin + torch.arange(context + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def main() -> float:
    parser = options(__doc__, "gpt.pt", epochs=10)
    parser.add_argument("--batches", type=int, default=200, help="batches of an epoch")
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--context", type=int, default=96, help="letters that are seen at once")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--prompt", default="The ", help="what the text in the end begins with")
    parser.add_argument("--length", type=int, default=200, help="letters to write in the end")
    parser.add_argument("--temperature", type=float, default=0.7)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    text = "\n".join(topics[name] for name in sorted(topics))
    letters = sorted(set(text))
    number = {letter: n for n, letter in enumerate(letters)}
    if unknown := sorted(set(args.prompt) - number.keys()):
        parser.error(f"--prompt has letters that the text does not have: {' '.join(unknown)}")
    data = torch.tensor([number[letter] for letter in text])
    train, unseen = data[: len(data) * 9 // 10], data[len(data) * 9 // 10 :]
    model = GPT(len(letters), args.context, args.width, args.heads, args.layers)
    print(f"{len(text)} letters, {len(letters)} different; {sum(p.numel() for p in model.parameters())} parameters")
    adam = optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.99), weight_decay=0.1)
    schedule = optim.lr_scheduler.CosineAnnealingLR(adam, max(1, args.epochs), eta_min=args.lr / 10)
    course = Course(args, model=model, optimizer=adam, schedule=schedule)
    test = float("nan")
    for _ in course.epochs():
        losses = []
        for _ in course.batches(range(args.batches), args.batches):
            x, y = batch(train, args.batch_size, args.context)
            adam.zero_grad()
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            losses.append(loss.item())
        schedule.step()
        with torch.no_grad():
            x, y = batch(unseen, 64, args.context)
            test = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
        course.report(loss=sum(losses) / len(losses), unseen=test)
    written = model.write(torch.tensor([number[letter] for letter in args.prompt]), args.length, args.temperature)
    print("".join(letters[n] for n in written.tolist()))
    return test


if __name__ == "__main__":
    main()
