"""Text as numbers, in the layout of WikiText: one file for each part, words between spaces, lines that end."""

from __future__ import annotations

import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from ..dataset import Dataset
from .files import BrokenFile, Check, find, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


UNKNOWN, END = "<unk>", "<eos>"
LONGEST = 1 << 24  # bytes of a line; a file without line ends is no text


class Vocabulary:
    """Words and their numbers, both ways.

    Example:
        >>> words = Vocabulary(["the", "cat"])
        >>> words.encode("the dog sat on the cat".split())
        tensor([2, 0, 0, 0, 2, 3])
        >>> words.decode([2, 3]), len(words)
        (['the', 'cat'], 4)
    """

    def __init__(self, words: Iterable[str] = (), specials: Iterable[str] = (UNKNOWN, END)) -> None:
        self.words: list[str] = []
        self.index: dict[str, int] = {}
        for word in (*specials, *words):
            self.add(word)

    @classmethod
    def build(
        cls,
        tokens: Iterable[str],
        min_count: int = 1,
        max_size: int | None = None,
        specials: Iterable[str] = (UNKNOWN, END),
    ) -> Vocabulary:
        """The words of a text that are frequent enough, the most frequent first, after the special ones."""
        specials = list(specials)
        counted = Counter(tokens)
        for word in specials:
            counted.pop(word, None)
        frequent = sorted((w for w, n in counted.items() if n >= min_count), key=lambda w: (-counted[w], w))
        return cls(frequent[: None if max_size is None else max(max_size - len(specials), 0)], specials)

    def add(self, word: str) -> int:
        """The number of a word, which is a new one if the word is new."""
        number = self.index.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> int:
        """The number of a word, that of ``<unk>`` for one that is not known."""
        number = self.index.get(word)
        if number is None:
            number = self.index.get(UNKNOWN)
        if number is None:
            raise KeyError(f"the vocabulary has no {word!r} and no {UNKNOWN!r} to stand for it")
        return number

    def encode(self, tokens: Iterable[str]) -> Tensor:
        return torch.tensor([self[token] for token in tokens], dtype=torch.int64)

    def decode(self, numbers: Any) -> list[str]:
        return [self.words[int(i)] for i in numbers]

    def save(self, path: str) -> None:
        """Writes one word a line."""
        Path(path).write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8")

    @classmethod
    def load(cls, path: str) -> Vocabulary:
        words = [line.rstrip("\n") for _, line in _lines(Path(path))]
        vocabulary = cls(words, specials=())
        if len(vocabulary) != len(words):
            twice = next(word for word, count in Counter(words).items() if count > 1)
            raise BrokenFile(path, f"the word {twice!r} stands there twice")
        return vocabulary

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"


def batchify(tokens: Tensor, batch_size: int) -> Tensor:
    """One long text (T) as ``batch_size`` texts beside each other, (T // batch_size, batch_size); the rest is dropped.

    Example:
        >>> batchify(torch.arange(7), 2)
        tensor([[0, 3],
                [1, 4],
                [2, 5]])
    """
    length = len(tokens) // batch_size if batch_size > 0 else 0
    if length == 0:
        raise ValueError(f"batchify: {len(tokens)} tokens do not make {batch_size} columns")
    return tokens[: length * batch_size].view(batch_size, length).t().contiguous()


class Windows(Dataset):
    """Sample i is (input, target): rows of a batchified text from i * length on, and the rows that are one later."""

    def __init__(self, columns: Tensor, length: int) -> None:
        if length < 1:
            raise ValueError(f"windows: length is {length}, and at least 1 is needed")
        self.columns, self.length = columns, length

    def __len__(self) -> int:
        return -(-(len(self.columns) - 1) // self.length)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"window {index} is out of range for {len(self)} windows")
        begin = index % len(self) * self.length
        end = min(begin + self.length, len(self.columns) - 1)
        return self.columns[begin:end], self.columns[begin + 1 : end + 1]


class TextCorpus:
    """One part of a text in a folder with ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``.

    ``train.txt`` and the like are read as well. ``tokens`` is int64 (T): the words of all lines, each line followed by
    ``<eos>``.

    Args:
        part: ``"train"``, ``"valid"`` or ``"test"``
        vocabulary: of the numbers; without one, that of all words of the training part, in the order of their coming
        tokenize: makes words of a line
        end: what follows each line; None for nothing

    Raises:
        FileNotFoundError: names the file and where it belongs
        BrokenFile: names the line that is no UTF-8 or does not end

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "train.txt").write_text("the cat\\n sat\\n")
        >>> corpus = TextCorpus(folder)
        >>> corpus.tokens, corpus.vocabulary.decode(corpus.tokens)
        (tensor([2, 3, 1, 4, 1]), ['the', 'cat', '<eos>', 'sat', '<eos>'])
    """

    published: dict[str, int] = {}  # tokens of each part, ends of lines included

    def __init__(
        self,
        root: Any,
        part: str = "train",
        vocabulary: Vocabulary | None = None,
        tokenize: Callable[[str], Iterable[str]] = str.split,
        end: str | None = END,
    ) -> None:
        self.root, self.part = Path(root), part
        path = self._file(root, part)
        numbers = array.array("q")
        if vocabulary is None:
            vocabulary = Vocabulary()
            if part != "train":
                for _, line in _lines(self._file(root, "train")):
                    for word in tokenize(line):
                        vocabulary.add(word)
            number = vocabulary.add if part == "train" else vocabulary.__getitem__
        else:
            number = vocabulary.__getitem__
        self.vocabulary = vocabulary
        for at, line in _lines(path):
            try:
                numbers.extend(map(number, tokenize(line)))
                if end is not None:
                    numbers.append(number(end))
            except KeyError as error:
                raise KeyError(f"{path}, line {at}: {error.args[0]}") from None
        self.tokens = torch.frombuffer(numbers, dtype=torch.int64) if numbers else torch.empty(0, dtype=torch.int64)

    def __len__(self) -> int:
        return len(self.tokens)

    def batchify(self, batch_size: int) -> Tensor:
        """The text as columns, see `batchify`."""
        return batchify(self.tokens, batch_size)

    def windows(self, batch_size: int, length: int) -> Windows:
        """Pairs of ``length`` rows of the columns and the rows that follow each, to predict one from the other."""
        return Windows(self.batchify(batch_size), length)

    @classmethod
    def _names(cls, part: str) -> list[str]:
        others = {"valid": ("valid", "validation", "val")}.get(part, (part,))
        return [
            form.format(name) for form in ("wiki.{}.tokens", "{}.txt", "{}.tokens", "wiki.{}.raw") for name in others
        ]

    @classmethod
    def _file(cls, root, part: str) -> Path:
        if part not in ("train", "valid", "test"):
            raise ValueError(f"{cls.__name__}: part must be 'train', 'valid' or 'test', got {part!r}")
        names = cls._names(part)
        path = find([Path(root)], names)
        if path is None:
            raise missing(cls.__name__, root, [names[0], f"{part}.txt"], "root is the folder that has the text's files")
        return path

    @classmethod
    def check(cls, root: Any) -> Check:
        """Reads the three parts: that they are there, are text, are not empty, and have the published number of words."""
        found = Check()
        for part in ("train", "valid", "test"):
            path = find([Path(root)], cls._names(part))

            def test(path=path, expected=cls.published.get(part)):
                if path is None:
                    raise FileNotFoundError
                count = sum(len(line.split()) + 1 for _, line in _lines(path))
                if count == 0:
                    raise BrokenFile(path, "empty")
                if expected is not None and count != expected:
                    raise BrokenFile(path, f"{count} words and ends of lines, and {expected} are right")

            found.run(path or Path(root) / cls._names(part)[0], test)
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.part}, {len(self)} tokens, {len(self.vocabulary)} words)"


class WikiText2(TextCorpus):
    """Good articles of Wikipedia, two million words; see `TextCorpus`."""

    published = {"train": 2_088_628, "valid": 217_646, "test": 245_569}


class WikiText103(TextCorpus):
    """Good articles of Wikipedia, a hundred million words; see `TextCorpus`."""

    published = {"train": 103_227_021, "valid": 217_646, "test": 245_569}


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file, numbered from 1; only line feeds end one."""
    with open(path, "rb") as file:
        at = 0
        while line := file.readline(LONGEST):
            at += 1
            if len(line) == LONGEST and not line.endswith(b"\n"):
                raise BrokenFile(path, f"line {at} is longer than {LONGEST} bytes: this is no text")
            try:
                yield at, line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise BrokenFile(
                    path, f"line {at}, byte {error.start + 1}: {line[error.start : error.start + 1].hex()} is not UTF-8"
                ) from None
