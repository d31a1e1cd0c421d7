"""mmengine, litdata, tabm, torchsurv, skrl: engines that train, streams from disk, tables, survival and policies."""

import logging
import tempfile
import warnings

import torch
from common import fill, numbers, train, whole
from torch import nn

DISTRIBUTIONS = ("mmengine", "litdata", "tabm", "torchsurv", "skrl")

warnings.simplefilter("ignore")


def runner_of_mmengine():
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    class Model(BaseModel):
        def __init__(self):
            super().__init__()
            self.layer = fill(nn.Linear(4, 2))

        def forward(self, x, y, mode="tensor"):
            found = self.layer(x)
            return {"loss": nn.functional.mse_loss(found, y)} if mode == "loss" else found

    model = Model()
    samples = [(numbers(4, seed=i), numbers(2, seed=i + 50)) for i in range(8)]
    loader = {
        "batch_size": 4,
        "num_workers": 0,
        "dataset": samples,
        "sampler": {"type": "DefaultSampler", "shuffle": False},
        "collate_fn": {"type": "default_collate"},
    }
    with tempfile.TemporaryDirectory() as folder:
        Runner(
            model=model,
            work_dir=folder,
            train_dataloader=loader,
            train_cfg={"by_epoch": True, "max_epochs": 3},
            optim_wrapper={
                "type": "OptimWrapper",
                "optimizer": {"type": "AdamW", "lr": 0.01},
                "clip_grad": {"max_norm": 1.0},
            },
            param_scheduler={"type": "MultiStepLR", "milestones": [1, 2]},
            log_level="ERROR",
        ).train()
        logging.shutdown()
    return model


def averages_of_mmengine():
    from mmengine.model import ExponentialMovingAverage

    layer = fill(nn.Linear(4, 2))
    average = ExponentialMovingAverage(layer, momentum=0.1)
    for _ in range(3):
        with torch.no_grad():
            layer.weight.add_(1)
        average.update_parameters(layer)
    return average


def streams_of_litdata():
    import litdata
    from litdata.streaming.writer import BinaryWriter

    with tempfile.TemporaryDirectory() as folder:
        writer = BinaryWriter(folder, chunk_size=4)
        for i in range(8):
            writer[i] = {"x": numbers(3, seed=i), "y": i}
        writer.done()
        writer.merge()
        loader = litdata.StreamingDataLoader(litdata.StreamingDataset(folder), batch_size=3, num_workers=0)
        return [(batch["x"], batch["y"]) for batch in loader]


def tables_of_tabm():
    import tabm

    model = tabm.TabM.make(n_num_features=5, cat_cardinalities=[3, 4], d_out=2, k=4, n_blocks=2, d_block=8, dropout=0.0)
    fill(model)
    x, kinds = numbers(6, 5), whole(3, 6, 2)
    return train(model, lambda: model(x, kinds).square().mean()), model(x, kinds)


def ensembles_of_norms():
    import tabm

    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.LayerNorm(4))
    tabm.ensemble_batchnorm1d_layers_(model, k=3)
    tabm.ensemble_layernorm_layers_(model, k=3)
    return str(model)


def losses_of_torchsurv():
    from torchsurv.loss.cox import neg_partial_log_likelihood
    from torchsurv.loss.weibull import neg_log_likelihood_weibull

    event, time = whole(2, 8).bool(), numbers(8).abs()
    return (
        neg_partial_log_likelihood(numbers(8, 1), event, time),
        neg_log_likelihood_weibull(numbers(8, 2), event, time),
    )


def scales_of_skrl():
    from skrl.resources.preprocessors.torch import RunningStandardScaler

    scaler = RunningStandardScaler(size=4, device="cpu")
    return scaler(numbers(10, 4) + 3, train=True), scaler(numbers(5, 4), inverse=True)
