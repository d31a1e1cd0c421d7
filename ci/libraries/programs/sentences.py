"""sentence-transformers: vectors of texts."""

import tempfile

import torch
from common import fill, numbers
from sentence_transformers import SentenceTransformer, losses, models, util
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

DISTRIBUTIONS = ("sentence-transformers",)


def _model(folder):
    words = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "a", "cat", "sat", "on", "the", "mat", "dog", "ran"])}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
    )
    fill(BertModel(config)).save_pretrained(folder)
    transformer = models.Transformer(folder)
    return SentenceTransformer(modules=[transformer, models.Pooling(16)], device="cpu")


def vectors():
    with tempfile.TemporaryDirectory() as folder:
        return _model(folder).encode(["a cat sat", "the dog ran on the mat"])


def search():
    return util.semantic_search(numbers(1, 6), numbers(5, 6, seed=1), top_k=2)[0], util.cos_sim(
        numbers(2, 6), numbers(3, 6)
    )


def loss():
    with tempfile.TemporaryDirectory() as folder:
        model = _model(folder).eval()
        tokens = [model.tokenize(["a cat", "the mat"]), model.tokenize(["a dog", "mat on"])]
        return losses.CosineSimilarityLoss(model)(tokens, torch.tensor([1.0, 0.0]))
