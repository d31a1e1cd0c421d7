"""vector-quantize-pytorch: codes of vectors."""

from common import fill, numbers
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

DISTRIBUTIONS = ("vector-quantize-pytorch",)


def codes():
    layer = VectorQuantize(dim=4, codebook_size=8, decay=0.8).eval()
    layer.codebook = numbers(8, 4)
    return layer(numbers(2, 5, 4))


def finite_scalars():
    layer = FSQ([5, 4, 3])
    quantized, indices = layer(numbers(2, 6, 3))
    return quantized, indices, layer.indices_to_codes(indices)


def signs():
    return LFQ(dim=4, codebook_size=16, entropy_loss_weight=0.1).eval()(numbers(2, 6, 4))


def residuals():
    layer = fill(ResidualVQ(dim=4, codebook_size=8, num_quantizers=2)).eval()
    for i, one in enumerate(layer.layers):
        one.codebook = numbers(8, 4, seed=i)
    return layer(numbers(2, 5, 4))
