"""fastai, torchtnt, lightning: loops that train, with callbacks, schedules and checkpoints."""

import tempfile
import warnings

import torch
from common import fill, numbers, whole
from torch import nn
from torch.utils.data import TensorDataset

DISTRIBUTIONS = ("fastai", "torchtnt", "lightning")

warnings.simplefilter("ignore")


def _net():
    return fill(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)))


def fastai_fits():
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.optimizer import Adam
    from torch.utils.data import DataLoader

    data = TensorDataset(numbers(32, 6), whole(3, 32))
    loaders = DataLoaders(DataLoader(data, batch_size=8), DataLoader(data, batch_size=16))
    from fastai.callback.progress import no_bar  # noqa: F401, a method of learners

    learner = Learner(loaders, _net(), loss_func=nn.CrossEntropyLoss(), opt_func=Adam)
    with learner.no_bar(), learner.no_logging():
        learner.fit(2, lr=0.01)
    return [float(x) for x in learner.validate()], learner.model


def fastai_one_cycle():
    from fastai.callback.schedule import fit_one_cycle  # noqa: F401, a method of learners
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from torch.utils.data import DataLoader

    data = TensorDataset(numbers(32, 6), whole(3, 32))
    loaders = DataLoaders(DataLoader(data, batch_size=8), DataLoader(data, batch_size=16))
    learner = Learner(loaders, _net(), loss_func=nn.CrossEntropyLoss())
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 0.01)
    return [float(x) for x in learner.recorder.losses], learner.recorder.hps["lr"], learner.model


def fastai_layers():
    from fastai.layers import AdaptiveConcatPool2d, ConvLayer, PixelShuffle_ICNR
    from fastai.losses import FocalLossFlat, LabelSmoothingCrossEntropy

    x = numbers(2, 4, 8, 8)
    nets = [
        AdaptiveConcatPool2d(2),
        ConvLayer(4, 6),
        PixelShuffle_ICNR(4, 4),
    ]
    found = [fill(net)(x) for net in nets]
    scores, classes = numbers(8, 3), whole(3, 8)
    return found, LabelSmoothingCrossEntropy()(scores, classes), FocalLossFlat()(scores, classes)


def fastai_tables():
    from fastai.tabular.model import TabularModel

    net = fill(TabularModel([(3, 2), (5, 3)], 4, 2, [8, 6])).eval()
    return net(torch.stack([whole(3, 6), whole(5, 6)], 1), numbers(6, 4))


def torchtnt_trains():
    from torch.utils.data import DataLoader
    from torchtnt.framework.auto_unit import AutoUnit
    from torchtnt.framework.train import train

    class Unit(AutoUnit):
        def compute_loss(self, state, data):
            x, y = data
            found = self.module(x)
            return nn.functional.cross_entropy(found, y), found

        def configure_optimizers_and_lr_scheduler(self, module):
            optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
            return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    unit = Unit(module=_net(), device=torch.device("cpu"), step_lr_interval="epoch", clip_grad_norm=1.0)
    loader = DataLoader(TensorDataset(numbers(32, 6), whole(3, 32)), batch_size=8)
    train(unit, loader, max_epochs=2)
    return unit.module, unit.optimizer.param_groups[0]["lr"]


def _lightning():
    import lightning

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = _net()

        def training_step(self, batch, i):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    return lightning, Net()


def _fit(folder, epochs, resume=None, **more):
    from torch.utils.data import DataLoader

    lightning, net = _lightning()
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder, **more,
    )  # fmt: skip
    data = TensorDataset(numbers(32, 6), whole(3, 32))
    trainer.fit(net, DataLoader(data, batch_size=8), ckpt_path=resume)
    return net, trainer


def lightning_resumes():
    with tempfile.TemporaryDirectory() as folder:
        whole_net, _ = _fit(folder, 4)
        first, trainer = _fit(folder, 2)
        trainer.save_checkpoint(f"{folder}/half.ckpt")
        resumed, _ = _fit(folder, 4, resume=f"{folder}/half.ckpt")
    return whole_net, resumed, first


def lightning_averages_and_clips():
    from lightning.pytorch.callbacks import GradientAccumulationScheduler, StochasticWeightAveraging

    with tempfile.TemporaryDirectory() as folder:
        net, _ = _fit(
            folder, 4, gradient_clip_val=0.5, enable_checkpointing=False,
            callbacks=[StochasticWeightAveraging(swa_lrs=0.01, swa_epoch_start=2), GradientAccumulationScheduler({1: 2})],
        )  # fmt: skip
    return net


def lightning_in_bfloat16():
    with tempfile.TemporaryDirectory() as folder:
        net, _ = _fit(folder, 2, precision="bf16-mixed", enable_checkpointing=False)
    return [round(float(p.sum()), 2) for p in net.parameters()]
