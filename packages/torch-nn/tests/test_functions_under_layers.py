"""Functions that look at values: on Meta, for all examples of a batch, and beneath modes they give shapes and results
all the same."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import functionalize, grad, vmap

F64 = torch.float64


def examples(*shape, n=3):
    torch.manual_seed(0)
    return torch.rand(n, *shape, dtype=F64)


def one_by_one(f, *batches):
    return torch.stack([f(*example) for example in zip(*batches, strict=True)])


def test_max_unpool_of_a_batch_of_examples_and_on_meta():
    x = examples(2, 4, 4)
    values, indices = vmap(lambda a: F.max_pool2d(a, 2, return_indices=True))(x)
    torch.testing.assert_close(
        vmap(lambda v, i: F.max_unpool2d(v, i, 2))(values, indices),
        one_by_one(lambda v, i: F.max_unpool2d(v, i, 2), values, indices),
    )
    assert F.max_unpool2d(values[0].to("meta"), indices[0].to("meta"), 2).shape == (2, 4, 4)
    with pytest.raises(RuntimeError, match="invalid max index"):
        vmap(lambda v, i: F.max_unpool2d(v, i, 2))(values, indices + 1000)


def test_binary_cross_entropy_checks_every_example():
    p, y = examples(4), examples(4).round()
    torch.testing.assert_close(vmap(F.binary_cross_entropy)(p, y), one_by_one(F.binary_cross_entropy, p, y))
    with pytest.raises(RuntimeError, match="between 0 and 1; scores"):
        vmap(F.binary_cross_entropy)(p * 2, y)
    with pytest.raises(RuntimeError, match="between 0 and 1, got 1.5; scores"):
        F.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_embeddings_of_a_batch(mode):
    weight, rows = examples(5, 2)[0], torch.tensor([[0, 1, 2, 4], [3, 3, 1, 0]])
    offsets = torch.tensor([[0, 2, 2], [0, 1, 4]])

    def bags(r, o, pad=None):
        return F.embedding_bag(r, weight, o, mode=mode, padding_idx=pad)

    for pad in (None, 1):
        expected = one_by_one(lambda r, o: bags(r, o, pad), rows, offsets)
        torch.testing.assert_close(vmap(lambda r, o: bags(r, o, pad))(rows, offsets), expected)
    assert expected[0, 1].tolist() == [0, 0]  # an empty bag
    meta = F.embedding_bag(rows[0].to("meta"), weight.to("meta"), offsets[0].to("meta"), mode=mode)
    assert meta.shape == (3, 2)
    renormed = F.embedding_bag(rows.to("meta"), weight.to("meta"), max_norm=1.0, mode=mode)
    assert renormed.shape == (2, 2) and F.embedding(rows.to("meta"), weight.to("meta"), max_norm=1.0).shape == (2, 4, 2)
    with pytest.raises(RuntimeError, match=r"offsets\[0\] has to be 0, the first bag begins there; got 1"):
        bags(rows[0], torch.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="offsets must rise"):
        bags(rows[0], torch.tensor([0, 3, 2]))


def test_ctc_loss_has_the_gradient_of_each_example():
    scores = examples(6, 2, 4).log_softmax(-1)
    targets = torch.tensor([[1, 2], [3, 3]])
    for labels in (targets, targets.flatten()):

        def loss(x, labels=labels):
            return F.ctc_loss(x, labels, [6, 6], [2, 2])

        torch.testing.assert_close(vmap(grad(loss))(scores), one_by_one(grad(loss), scores))
    shared = one_by_one(lambda t: F.ctc_loss(scores[0], t, [6, 6], [2, 2]), torch.stack([targets, 4 - targets]))
    batched = vmap(lambda t: F.ctc_loss(scores[0], t, [6, 6], [2, 2]))(torch.stack([targets, 4 - targets]))
    torch.testing.assert_close(batched, shared)


def test_all_dropped_draws_nothing():
    x = examples(1, 2, 2, 2)
    for f in (F.dropout3d, F.feature_alpha_dropout, F.alpha_dropout):
        assert not vmap(lambda a, f=f: f(a, 1.0, True))(x).any()


def test_resizing_keeps_no_table_of_a_mode():
    x = examples(2, 4, 4)

    def resize(a):
        return F.interpolate(a, size=(7, 7), mode="bilinear")

    with torch.device("meta"):
        first = resize(x)
    assert functionalize(resize)(x).shape == (3, 2, 7, 7)
    torch.testing.assert_close(resize(x), first)
    assert resize(x.to("meta")).device.type == "meta" and resize(x.to("meta")).shape == first.shape
    for mode in ("nearest", "nearest-exact", "bicubic"):
        assert F.interpolate(x.to("meta"), scale_factor=2, mode=mode).shape == (3, 2, 8, 8)


def test_one_hot_with_known_classes_needs_no_values():
    numbers = torch.tensor([[0, 2], [1, 1]])
    torch.testing.assert_close(vmap(lambda n: F.one_hot(n, 3))(numbers), F.one_hot(numbers, 3))
    assert F.one_hot(numbers.to("meta"), 3).shape == (2, 2, 3)
    with pytest.raises(RuntimeError, match="must be smaller than num_classes: 2 >= 2"):
        F.one_hot(numbers, 2)


def test_distances_ask_a_class_of_tensors_as_one_function():
    asked = []

    class Asking(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x, y = torch.rand(2, 3), torch.rand(2, 3)
    F = torch.nn.functional
    for function, given, more in (
        (F.pairwise_distance, (x, y), (1.0, 1e-6, True)), (F.cosine_similarity, (x, y), (0, 1e-8)), (F.normalize, (x,), (1.0, 0)),
    ):  # fmt: skip
        for place in range(len(given)):
            asked.clear()
            mixed = [t.as_subclass(Asking) if i == place else t for i, t in enumerate(given)]
            result = function(*mixed, *more)
            assert asked == [function] and type(result) is Asking
            asked.clear()
            assert torch.equal(result.as_subclass(torch.Tensor), function(*given, *more))
