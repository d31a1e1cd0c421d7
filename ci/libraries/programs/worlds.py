"""tianshou, pytorch-forecasting, torchio, torchrl: policies, forecasts, volumes."""

import warnings

import numpy as np
import torch
from common import fill, gradients, numbers, whole
from torch import nn

DISTRIBUTIONS = ("tianshou", "pytorch-forecasting", "torchio", "torchrl")

warnings.simplefilter("ignore")


def batches_of_tianshou():
    from tianshou.data import Batch, ReplayBuffer

    buffer = ReplayBuffer(size=8)
    for i in range(10):
        buffer.add(
            Batch(
                obs=np.float32(i), act=i % 2, rew=float(i), terminated=i == 4, truncated=False, obs_next=i + 1, info={}
            )
        )
    stacked = Batch.stack([Batch(a=numbers(2, seed=i), b={"c": i}) for i in range(3)])
    return buffer.rew, buffer.prev(np.arange(8)), stacked.a, np.asarray(stacked.b.c)


def networks_of_tianshou():
    from tianshou.utils.net.common import MLP, Net
    from tianshou.utils.net.discrete import NoisyLinear

    mlp = fill(MLP(4, 2, hidden_sizes=[8], norm_layer=nn.LayerNorm))
    net = fill(Net(state_shape=(4,), action_shape=3, hidden_sizes=[8, 8], softmax=True))
    x = numbers(5, 4)
    noisy = fill(NoisyLinear(4, 3)).eval()
    return mlp(x), net(x)[0], noisy(x)


def returns_of_tianshou():
    from tianshou.policy.base import _gae_return, _nstep_return

    rew, end = np.arange(6.0), np.array([0, 0, 1, 0, 0, 1], dtype=bool)
    value = np.linspace(0, 1, 6)
    return _gae_return(value, value + 0.1, rew, end, 0.9, 0.95), _nstep_return(
        rew, end, np.ones((6, 1)), np.stack([np.arange(6)] * 2), 0.9, 2
    )


def metrics_of_forecasting():
    from pytorch_forecasting.metrics import MAE, MAPE, RMSE, SMAPE, NormalDistributionLoss, PoissonLoss, QuantileLoss

    y = numbers(4, 6).abs() + 0.5
    found = [
        metric(numbers(4, 6, 1, seed=2).abs() + 0.1, y) for metric in (MAE(), MAPE(), RMSE(), SMAPE(), PoissonLoss())
    ]
    quantiles = QuantileLoss()(numbers(4, 6, 7, seed=3), y)
    normal = NormalDistributionLoss()
    scaled = normal.rescale_parameters(numbers(4, 6, 2), target_scale=torch.ones(4, 2), encoder=_Identity())
    return found, quantiles, normal(scaled, y)


class _Identity:
    def __call__(self, data):
        return data["prediction"]

    transformation = None


def networks_of_forecasting():
    from pytorch_forecasting.models.nbeats.sub_modules import NBEATSGenericBlock, NBEATSSeasonalBlock, NBEATSTrendBlock
    from pytorch_forecasting.models.temporal_fusion_transformer.sub_modules import (
        GatedResidualNetwork,
        InterpretableMultiHeadAttention,
    )

    x = numbers(3, 10)
    blocks = [
        fill(NBEATSGenericBlock(units=8, thetas_dim=4, num_block_layers=2, backcast_length=10, forecast_length=5)),
        fill(NBEATSSeasonalBlock(units=8, thetas_dim=None, num_block_layers=2, backcast_length=10, forecast_length=5)),
        fill(NBEATSTrendBlock(units=8, thetas_dim=3, num_block_layers=2, backcast_length=10, forecast_length=5)),
    ]
    gated = fill(GatedResidualNetwork(6, 8, 4, dropout=0.0))
    attention = fill(InterpretableMultiHeadAttention(n_head=2, d_model=8, dropout=0.0))
    q = numbers(2, 5, 8)
    return (
        [block.eval()(x) for block in blocks],
        gated(numbers(2, 3, 6)),
        attention(q, q, q),
    )


def frames_of_forecasting():
    import pandas as pd
    from pytorch_forecasting import TimeSeriesDataSet

    frame = pd.DataFrame(
        {
            "time": np.tile(np.arange(12), 2),
            "group": np.repeat(["a", "b"], 12),
            "value": np.arange(24.0) + 1,
        }
    )
    data = TimeSeriesDataSet(
        frame, time_idx="time", target="value", group_ids=["group"], max_encoder_length=4, max_prediction_length=2,
        time_varying_unknown_reals=["value"], add_relative_time_idx=True,
    )  # fmt: skip
    x, (y, weight) = next(iter(data.to_dataloader(train=False, batch_size=4, num_workers=0)))
    return {k: v for k, v in x.items() if isinstance(v, torch.Tensor)}, y, weight


def volumes_of_torchio():
    import torchio

    image = torchio.ScalarImage(tensor=numbers(1, 8, 8, 8))
    label = torchio.LabelMap(tensor=whole(3, 1, 8, 8, 8))
    subject = torchio.Subject(image=image, label=label)
    steps = torchio.Compose(
        [
            torchio.ToCanonical(),
            torchio.CropOrPad((10, 6, 8)),
            torchio.ZNormalization(),
            torchio.OneHot(),
            torchio.Pad(1),
        ]
    )
    out = steps(subject)
    resampled = torchio.Resample(2)(subject)
    return out.image.data, out.label.data, resampled.image.data, torchio.RescaleIntensity((0, 1))(image).data


def patches_of_torchio():
    import torchio

    subject = torchio.Subject(image=torchio.ScalarImage(tensor=numbers(1, 8, 8, 8)))
    sampler = torchio.inference.GridSampler(subject, 4, 2)
    joined = torchio.inference.GridAggregator(sampler, overlap_mode="average")
    for batch in torchio.SubjectsLoader(sampler, batch_size=4):
        joined.add_batch(batch["image"]["data"] * 2, batch["location"])
    return joined.get_output_tensor()


def losses_of_torchrl():
    from tensordict import TensorDict
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torchrl.modules import ProbabilisticActor, ValueOperator
    from torchrl.modules.distributions import TanhNormal
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2), NormalParamExtractor())
    actor = ProbabilisticActor(
        TensorDictModule(body, ["observation"], ["loc", "scale"]), in_keys=["loc", "scale"],
        distribution_class=TanhNormal, return_log_prob=True,
    )  # fmt: skip
    critic = ValueOperator(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), in_keys=["observation"])
    fill(actor), fill(critic)
    data = TensorDict(
        {
            "observation": numbers(3, 5, 4),
            "action": numbers(3, 5, 1).tanh() * 0.9,
            "action_log_prob": numbers(3, 5, seed=4) * 0.1 - 1,
            "next": {
                "observation": numbers(3, 5, 4, seed=1),
                "reward": numbers(3, 5, 1, seed=2),
                "done": torch.zeros(3, 5, 1, dtype=torch.bool),
                "terminated": torch.zeros(3, 5, 1, dtype=torch.bool),
            },
        },
        [3, 5],
    )
    GAE(gamma=0.9, lmbda=0.9, value_network=critic)(data)
    loss = ClipPPOLoss(actor, critic, entropy_bonus=False)
    found = loss(data)
    (found["loss_objective"] + found["loss_critic"]).backward()
    return data["advantage"], found["loss_objective"], found["loss_critic"], gradients(critic)


def networks_of_torchrl():
    from torchrl.modules import MLP, ConvNet, NoisyLinear

    x = numbers(3, 4)
    return (
        fill(MLP(in_features=4, out_features=2, num_cells=[8]))(x),
        fill(ConvNet(in_features=3, num_cells=[4], kernel_sizes=3))(numbers(2, 3, 6, 6)),
        fill(NoisyLinear(4, 2)).eval()(x),
    )
