"""Spoken commands told apart by a convolutional network on their spectrograms; the voices are synthesised.

python main.py                     # trains on words that no two voices say alike
python main.py --plot words.png    # and shows one of each
"""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options

RATE, SAMPLES = 8000, 4096  # samples a second, and of a word: half a second
# A word is a sequence of sounds, each given by two resonances of the throat in Hz, from begin to end, or by noise.
WORDS: dict[str, list[tuple[tuple[int, int], tuple[int, int]] | None]] = {
    "yes": [((300, 300), (2200, 2200)), ((550, 500), (1800, 1900)), None],
    "no": [((250, 250), (1000, 1000)), ((550, 400), (1000, 800))],
    "up": [((650, 600), (1200, 1200))],
    "down": [((700, 500), (1500, 900)), ((250, 250), (1000, 1000))],
    "left": [((350, 550), (1200, 1800)), None],
    "right": [((400, 700), (1200, 1100)), ((700, 350), (1100, 2100))],
    "stop": [None, ((600, 550), (1000, 950))],
    "go": [((550, 350), (1000, 750))],
}


def resonance(pitch: Tensor, centre: Tensor, time: Tensor) -> Tensor:
    """Harmonics of a voice, as loud as they are near to a resonance."""
    phase = 2 * math.pi * torch.cumsum(pitch, 0) / RATE
    sound = torch.zeros_like(time)
    for harmonic in range(1, 24):
        distance = (harmonic * pitch - centre) / 150
        sound += torch.exp(-(distance**2)) * torch.sin(harmonic * phase)
    return sound


def say(word: str, generator: torch.Generator) -> Tensor:
    """One utterance (SAMPLES) in a voice of its own: pitch, throat, speed, loudness and background differ."""

    def about(middle: float, spread: float) -> float:
        return middle + spread * (2 * float(torch.rand((), generator=generator)) - 1)

    pitch, throat, speed = about(160, 60), about(1.0, 0.12), about(1.0, 0.2)
    sounds = WORDS[word]
    pieces = []
    for resonances in sounds:
        length = int(SAMPLES * 0.8 * speed / (len(sounds) + 0.5))
        time = torch.linspace(0, 1, length)
        if resonances is None:
            piece = 0.3 * torch.randn(length, generator=generator).diff(prepend=torch.zeros(1))
        else:
            falling = pitch * (1.1 - 0.2 * time)
            piece = sum(
                (
                    resonance(falling, throat * (a + (b - a) * time), time) / (n + 1)
                    for n, (a, b) in enumerate(resonances)
                ),
                torch.zeros(length),
            )
        pieces.append(piece * torch.sin(math.pi * time).clamp(min=0).sqrt())
    wave = torch.cat(pieces)[:SAMPLES]
    start = int(torch.randint(SAMPLES - len(wave) + 1, (), generator=generator))
    wave = F.pad(wave, (start, SAMPLES - len(wave) - start)) * about(0.5, 0.3)
    return wave + 0.02 * torch.randn(SAMPLES, generator=generator)


def utterances(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Sounds (count, SAMPLES) and the numbers of their words (count)."""
    generator = torch.Generator().manual_seed(seed)
    names = list(WORDS)
    labels = torch.arange(count) % len(names)
    return torch.stack([say(names[label], generator) for label in labels.tolist()]), labels


def spectrogram(waves: Tensor) -> Tensor:
    """How loud each pitch is at each time, in logarithms: (N, SAMPLES) to (N, 1, 65, 65)."""
    parts = torch.stft(waves, 128, hop_length=64, window=torch.hann_window(128), return_complex=True)
    return parts.abs().add(1e-3).log().unsqueeze(1)


class Listener(nn.Module):
    """Three convolutions over time and pitch, then the mean over time."""

    def __init__(self, words: int, width: int = 16) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = [1, width, 2 * width, 4 * width]
        for before, after in itertools.pairwise(channels):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*layers)
        self.word = nn.Linear(4 * width * 8, words)

    def forward(self, waves: Tensor) -> Tensor:
        h = self.features(spectrogram(waves))  # (N, C, 8, 8): pitch stays, time does not
        return self.word(h.mean(3).flatten(1))


def main() -> float:
    parser = options(__doc__, "speech_commands.pt", epochs=8)
    parser.add_argument("--words", type=int, default=1200, help="utterances to train on")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the spectrogram of each word")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    waves, labels = utterances(args.words, args.seed)
    unheard, answers = utterances(max(len(WORDS), args.words // 5), args.seed + 1)
    net = Listener(len(WORDS))
    adam = optim.Adam(net.parameters(), lr=args.lr)
    course = Course(args, net=net, optimizer=adam)
    right = 0.0
    for _ in course.epochs():
        net.train()
        total = 0.0
        order = torch.randperm(len(waves)).split(args.batch_size)
        for batch in course.batches(order, len(order)):
            loss = F.cross_entropy(net(waves[batch]), labels[batch])
            adam.zero_grad()
            loss.backward()
            adam.step()
            total += loss.item() * len(batch)
        net.eval()
        with torch.no_grad():
            right = (net(unheard).argmax(1) == answers).float().mean().item()
        course.report(loss=total / len(waves), unheard_right=right)
    if args.plot:
        import pictures

        images = spectrogram(waves[: 4 * len(WORDS)]).squeeze(1).flip(1)
        images = (images - images.amin()) / (images.amax() - images.amin())
        pictures.grid(args.plot, {word: images[n :: len(WORDS)] for n, word in enumerate(WORDS)})
    return right


if __name__ == "__main__":
    main()
