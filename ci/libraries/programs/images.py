"""Distances of images: lpips, piq, pytorch-msssim, facenet-pytorch, segment-anything."""

import torch
from common import fill, gradients, numbers

DISTRIBUTIONS = ["lpips", "piq", "pytorch_msssim", "segment_anything"]


def _images():
    x = torch.sigmoid(numbers(2, 3, 64, 64))
    return x.requires_grad_(), torch.sigmoid(numbers(2, 3, 64, 64, seed=1))


def lpips_layers():
    import lpips

    loss = fill(lpips.LPIPS(net="alex", pretrained=False, pnet_rand=True, verbose=False))
    x, y = _images()
    value = loss(x * 2 - 1, y * 2 - 1)
    value.sum().backward()
    return value, x.grad


def structural_similarity():
    from pytorch_msssim import SSIM, ssim

    x, y = _images()
    value = ssim(x, y, data_range=1.0) + SSIM(data_range=1.0, channel=3)(x, y)
    value.backward()
    return value, x.grad


def piq_measures():
    import piq

    x, y = _images()
    values = [piq.ssim(x, y), piq.psnr(x, y), piq.total_variation(x), piq.gmsd(x, y), piq.haarpsi(x, y)]
    sum(values).backward()
    return values, x.grad


def segment_anything_decoder():
    from segment_anything.modeling import MaskDecoder, TwoWayTransformer

    decoder = MaskDecoder(
        transformer_dim=16,
        transformer=TwoWayTransformer(depth=1, embedding_dim=16, mlp_dim=16, num_heads=2),
    )
    fill(decoder)
    masks, quality = decoder(
        image_embeddings=numbers(1, 16, 4, 4),
        image_pe=numbers(1, 16, 4, 4, seed=1),
        sparse_prompt_embeddings=numbers(1, 2, 16),
        dense_prompt_embeddings=numbers(1, 16, 4, 4, seed=2),
        multimask_output=True,
    )
    (masks.sum() + quality.sum()).backward()
    return masks, quality, gradients(decoder.output_upscaling)
