"""skorch and ignite: loops of training."""

import numpy as np
import torch
from common import fill, numbers
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from skorch import NeuralNetClassifier, NeuralNetRegressor
from torch import nn

DISTRIBUTIONS = ("skorch", "pytorch-ignite")


class _Net(nn.Module):
    def __init__(self, out=2):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, out)
        fill(self, 0.5)

    def forward(self, x):
        return self.last(self.first(x).tanh())


def classifier():
    x, y = numbers(32, 4).numpy(), (numbers(32).numpy() > 0).astype(np.int64)
    net = NeuralNetClassifier(
        _Net, criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.1, verbose=0, train_split=None, batch_size=8
    )
    net.fit(x, y)
    return net.history[:, "train_loss"], net.predict_proba(x), net.score(x, y)


def regressor():
    x = numbers(32, 4).numpy()
    net = NeuralNetRegressor(
        _Net, module__out=1, max_epochs=3, lr=0.05, verbose=0, train_split=None, optimizer=torch.optim.Adam
    )
    return net.fit(x, x[:, :1]).predict(x)


def engine():
    net = _Net()
    data = [(numbers(8, 4, seed=i), (numbers(8, seed=i) > 0).long()) for i in range(4)]
    trainer = create_supervised_trainer(net, torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss())
    losses = []
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda e: losses.append(e.state.output))
    trainer.run(data, max_epochs=2)
    evaluator = create_supervised_evaluator(net, {"accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss())})
    return losses, evaluator.run(data).metrics


def events_in_order():
    seen, engine = [], Engine(lambda e, batch: batch)
    engine.add_event_handler(Events.EPOCH_STARTED, lambda e: seen.append(f"epoch {e.state.epoch}"))
    engine.add_event_handler(Events.ITERATION_COMPLETED(every=2), lambda e: seen.append(e.state.iteration))
    engine.run([1, 2, 3], max_epochs=2)
    return seen
