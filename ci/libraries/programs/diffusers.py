"""diffusers: denoising networks, autoencoders and samplers."""

import tempfile

import torch
from common import fill, numbers, size, train, whole
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)
from diffusers.training_utils import EMAModel

DISTRIBUTIONS = ("diffusers",)


def _unet():
    return fill(
        UNet2DModel(
            sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        )
    )  # fmt: skip


def unet():
    net = _unet().eval()
    return size(net), net(numbers(2, 1, 8, 8), torch.tensor([3, 7])).sample


def conditioned_unet():
    net = UNet2DConditionModel(
        sample_size=8, in_channels=2, out_channels=2, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
        cross_attention_dim=12, attention_head_dim=4, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    return fill(net).eval()(numbers(1, 2, 8, 8), 5, encoder_hidden_states=numbers(1, 3, 12)).sample


def autoencoder():
    net = AutoencoderKL(
        in_channels=1, out_channels=1, block_out_channels=(8, 8), latent_channels=2, norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    fill(net).eval()
    code = net.encode(numbers(1, 1, 16, 16)).latent_dist
    return code.mean, code.std, net.decode(code.mode()).sample


def noise_is_added():
    schedule = DDPMScheduler(num_train_timesteps=50)
    return schedule.add_noise(
        numbers(2, 1, 4, 4), numbers(2, 1, 4, 4, seed=1), torch.tensor([10, 40])
    ), schedule.alphas_cumprod


def _sampled(schedule, **more):
    schedule.set_timesteps(5)
    net = _unet().eval()
    x = numbers(1, 1, 8, 8) * schedule.init_noise_sigma
    with torch.no_grad():
        for t in schedule.timesteps:
            x = schedule.step(net(schedule.scale_model_input(x, t), t).sample, t, x, **more).prev_sample
    return x


def ddim():
    return _sampled(DDIMScheduler(num_train_timesteps=50))


def dpm_solver():
    return _sampled(DPMSolverMultistepScheduler(num_train_timesteps=50))


def euler():
    return _sampled(EulerDiscreteScheduler(num_train_timesteps=50))


def training():
    net, schedule = _unet().train(), DDPMScheduler(num_train_timesteps=50)
    x, noise, t = numbers(4, 1, 8, 8), numbers(4, 1, 8, 8, seed=1), whole(50, 4)
    loss = lambda: torch.nn.functional.mse_loss(net(schedule.add_noise(x, noise, t), t).sample, noise)
    return train(net, loss, lambda p: torch.optim.AdamW(p, lr=1e-3))[0]


def moving_average():
    net = _unet()
    average = EMAModel(net.parameters(), decay=0.9)
    with torch.no_grad():
        for p in net.parameters():
            p.add_(1)
    average.step(net.parameters())
    average.copy_to(net.parameters())
    return [p.sum() for p in net.parameters()]


def saved_and_loaded():
    net = _unet().eval()
    with tempfile.TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        other = UNet2DModel.from_pretrained(folder).eval()
    x = numbers(1, 1, 8, 8)
    return net(x, 1).sample, other(x, 1).sample, {name: p.sum() for name, p in other.named_parameters()}


def pipeline():
    pipe = DDPMPipeline(_unet(), DDPMScheduler(num_train_timesteps=10))
    pipe.set_progress_bar_config(disable=True)
    return pipe(num_inference_steps=2, output_type="np").images.shape
