"""denoising-diffusion-pytorch: a network that takes noise away."""

from common import fill, numbers, size, train
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

DISTRIBUTIONS = ("denoising-diffusion-pytorch",)


def _net():
    return fill(Unet(dim=8, dim_mults=(1, 2), channels=1, flash_attn=False))


def network():
    import torch

    net = _net().eval()
    return size(net), net(numbers(1, 1, 8, 8), torch.tensor([3.0]))


def losses():
    import torch

    diffusion = GaussianDiffusion(_net(), image_size=8, timesteps=20, sampling_timesteps=4)
    x, noise, t = numbers(2, 1, 8, 8).sigmoid(), numbers(2, 1, 8, 8, seed=1), torch.tensor([3, 11])
    return diffusion.q_sample(x, t, noise), train(diffusion, lambda: diffusion.p_losses(x, t, noise), steps=2)[0]


def samples_have_their_shape():
    return GaussianDiffusion(_net(), image_size=8, timesteps=20, sampling_timesteps=2).sample(batch_size=2).shape
