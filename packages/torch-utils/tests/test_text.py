"""Text in the layout of WikiText."""

import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data.datasets import BrokenFile, TextCorpus, Vocabulary, WikiText2, batchify

TRAIN = " \n = A title = \n \n the cat <unk> the mat \n"


@pytest.fixture
def folder(tmp_path):
    for part, text in (("train", TRAIN), ("valid", "the dog\n"), ("test", "a dog sat")):
        (tmp_path / f"wiki.{part}.tokens").write_text(text, encoding="utf-8")
    return tmp_path


def test_tokens_are_the_words_of_all_lines_and_their_ends(folder):
    corpus = TextCorpus(folder)
    expected = ["<eos>", "=", "A", "title", "=", "<eos>", "<eos>", "the", "cat", "<unk>", "the", "mat", "<eos>"]
    assert corpus.vocabulary.decode(corpus.tokens) == expected
    assert corpus.tokens.dtype == torch.int64
    assert corpus.vocabulary.words == ["<unk>", "<eos>", "=", "A", "title", "the", "cat", "mat"]
    assert len(TextCorpus(folder, end=None)) == 9


def test_other_parts_use_the_words_of_the_training_part(folder):
    train, valid = TextCorpus(folder), TextCorpus(folder, "valid")
    assert valid.vocabulary.words == train.vocabulary.words
    assert valid.vocabulary.decode(valid.tokens) == ["the", "<unk>", "<eos>"]
    given = TextCorpus(folder, "test", train.vocabulary)
    assert given.tokens.tolist() == [0, 0, 0, 1]
    assert len(train.vocabulary) == 8


def test_a_vocabulary_without_unknown_names_the_word_and_its_line(folder):
    with pytest.raises(KeyError, match="wiki.test.tokens, line 1: the vocabulary has no 'a' and no '<unk>'"):
        TextCorpus(folder, "test", Vocabulary(["dog"], specials=()))


def test_a_vocabulary_is_built_by_frequency():
    text = ["b", "a", "c", "a", "b", "a", "d", "<unk>"]
    assert Vocabulary.build(text).words == ["<unk>", "<eos>", "a", "b", "c", "d"]
    assert Vocabulary.build(text, min_count=2).words == ["<unk>", "<eos>", "a", "b"]
    assert Vocabulary.build(text, max_size=3).words == ["<unk>", "<eos>", "a"]
    assert Vocabulary.build(text, specials=()).words == ["a", "b", "<unk>", "c", "d"]


def test_a_vocabulary_is_saved_and_loaded(tmp_path):
    words = Vocabulary(["ä", "b\u2028c", "d"])
    words.save(tmp_path / "v.txt")
    assert Vocabulary.load(tmp_path / "v.txt").words == words.words
    (tmp_path / "v.txt").write_text("a\nb\na\n")
    with pytest.raises(BrokenFile, match="the word 'a' stands there twice"):
        Vocabulary.load(tmp_path / "v.txt")


def test_batchify_makes_columns_of_consecutive_words():
    columns = batchify(torch.arange(11), 3)
    assert columns.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert columns.is_contiguous()
    for size in (12, 0, -1):
        with pytest.raises(ValueError, match=f"11 tokens do not make {size} columns"):
            batchify(torch.arange(11), size)


def test_windows_cover_every_target_once(folder):
    (folder / "wiki.train.tokens").write_text(" ".join(f"w{i}" for i in range(40)))
    corpus = TextCorpus(folder)
    windows = corpus.windows(batch_size=4, length=3)
    assert len(windows) == 3
    pairs = list(DataLoader(windows, batch_size=None))
    assert [tuple(x.shape) for x, _ in pairs] == [(3, 4), (3, 4), (3, 4)]
    columns = corpus.batchify(4)
    assert torch.equal(torch.cat([y for _, y in pairs]), columns[1:])
    assert torch.equal(torch.cat([x for x, _ in pairs]), columns[:-1])
    assert torch.equal(windows[-1][0], pairs[-1][0])
    with pytest.raises(IndexError, match="window 3 is out of range for 3"):
        windows[3]
    with pytest.raises(ValueError, match="length is 0"):
        corpus.windows(4, 0)


def test_the_last_window_may_be_shorter(folder):
    (folder / "wiki.train.tokens").write_text(" ".join("abcdefghij"))
    windows = TextCorpus(folder, end=None).windows(2, 3)
    assert [len(x) for x, _ in windows] == [3, 1]


@pytest.mark.parametrize("name", ["train.txt", "wiki.train.raw", "train.tokens"])
def test_other_names_are_found(tmp_path, name):
    (tmp_path / name).write_text("a b")
    assert len(TextCorpus(tmp_path)) == 3


def test_missing_parts_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="WikiText2: .* has no wiki.test.tokens and no test.txt"):
        WikiText2(tmp_path, "test")
    with pytest.raises(ValueError, match="part must be 'train', 'valid' or 'test', got 'dev'"):
        TextCorpus(tmp_path, "dev")


def test_bytes_that_are_no_text_are_named(folder):
    file = folder / "wiki.train.tokens"
    file.write_bytes(b"good line\nab\xff\n")
    with pytest.raises(BrokenFile, match="line 2, byte 3: ff is not UTF-8"):
        TextCorpus(folder)
    file.write_bytes(b"x" * (1 << 24) + b"y")
    with pytest.raises(BrokenFile, match="line 1 is longer than 16777216 bytes"):
        TextCorpus(folder)


def test_check_counts_words(folder):
    assert TextCorpus.check(folder)
    (folder / "wiki.valid.tokens").write_text("")
    (folder / "wiki.test.tokens").unlink()
    found = TextCorpus.check(folder)
    assert found.problems == {folder / "wiki.valid.tokens": "empty", folder / "wiki.test.tokens": "not there"}
    problem = WikiText2.check(folder).problems[folder / "wiki.train.tokens"]
    assert problem == "13 words and ends of lines, and 2088628 are right"


def test_an_empty_file_has_no_tokens(tmp_path):
    (tmp_path / "train.txt").write_text("")
    assert len(TextCorpus(tmp_path)) == 0


def test_another_tokenizer_may_be_used(folder):
    corpus = TextCorpus(
        folder, "test", Vocabulary(map(chr, range(97, 123))), tokenize=lambda line: line.replace(" ", "")
    )
    assert "".join(corpus.vocabulary.decode(corpus.tokens[:-1])) == "adogsat"
