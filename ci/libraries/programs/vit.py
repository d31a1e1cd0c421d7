"""Transformers and convolutions in many forms: vit-pytorch, conformer, perceiver-pytorch, pytorch-tcn."""

from common import fill, gradients, numbers, reload

DISTRIBUTIONS = ["vit_pytorch", "conformer", "perceiver-pytorch", "pytorch-tcn"]


def _run(model, *inputs):
    fill(model).eval()
    out = model(*inputs)
    out.square().mean().backward()
    return out, gradients(model)


def vision_transformer():
    from vit_pytorch import ViT

    def make():
        return ViT(image_size=16, patch_size=8, num_classes=5, dim=16, depth=2, heads=2, mlp_dim=16)

    model = make()
    result = _run(model, numbers(2, 3, 16, 16))
    return result, reload(model, make()).eval()(numbers(2, 3, 16, 16))


def simple_vision_transformer():
    from vit_pytorch import SimpleViT

    return _run(
        SimpleViT(image_size=16, patch_size=8, num_classes=5, dim=16, depth=1, heads=2, mlp_dim=16),
        numbers(2, 3, 16, 16),
    )


def conformer_block():
    from conformer import ConformerBlock

    return _run(ConformerBlock(dim=16, dim_head=8, heads=2, conv_kernel_size=3), numbers(2, 6, 16))


def perceiver():
    from perceiver_pytorch import Perceiver

    model = Perceiver(
        input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=1, num_latents=4, latent_dim=16, cross_heads=1,
        latent_heads=2, cross_dim_head=8, latent_dim_head=8, num_classes=5,
    )  # fmt: skip
    return _run(model, numbers(2, 8, 8, 3))


def temporal_convolutions():
    from pytorch_tcn import TCN

    return _run(TCN(num_inputs=4, num_channels=[8, 8], kernel_size=3, use_norm="layer_norm"), numbers(2, 4, 12))
