"""lightning: models that train themselves, in a trainer and in a fabric."""

import tempfile

import lightning
import torch
from common import fill, numbers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DISTRIBUTIONS = ("lightning", "pytorch-lightning", "lightning-utilities")


class _Model(lightning.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = fill(nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1)), 0.5)
        self.losses = []

    def training_step(self, batch, index):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.losses.append(float(loss.detach()))
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def _data():
    return DataLoader(TensorDataset(numbers(16, 4), numbers(16, 1, seed=1)), batch_size=4)


def _trainer(folder, **more):
    return lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **more,
    )


def training():
    with tempfile.TemporaryDirectory() as folder:
        model = _Model()
        _trainer(folder, gradient_clip_val=1.0).fit(model, _data())
        return model.losses, model.net


def checkpoint():
    with tempfile.TemporaryDirectory() as folder:
        model = _Model(6)
        trainer = _trainer(folder)
        trainer.fit(model, _data())
        trainer.save_checkpoint(folder + "/last.ckpt")
        other = _Model.load_from_checkpoint(folder + "/last.ckpt", weights_only=False)
        return other.hparams.width, other.net


def fabric():
    device = lightning.Fabric(accelerator="cpu", devices=1)
    net = fill(nn.Linear(4, 1))
    net, optimizer = device.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    losses = []
    for x, y in device.setup_dataloaders(_data()):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        device.backward(loss)
        optimizer.step()
        losses.append(loss.detach())
    return losses


def summary():
    from lightning.pytorch.utilities.model_summary import ModelSummary

    found = ModelSummary(_Model())
    return found.total_parameters, found.layer_names
