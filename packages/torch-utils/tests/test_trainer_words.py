"""What a Trainer says to someone who holds it wrongly."""

import pytest
import torch
from torch.utils.trainer import Trainer
from torch.utils.trainer.plugins import Checkpoint, Logger, LossMonitor

PAIRS = [(1.0, 3.0), (2.0, 4.0)]


class Steps:
    def zero_grad(self):
        pass

    def step(self, closure):
        closure()


class Loss(float):
    def backward(self):
        pass


def distance(output, target):
    return Loss(abs(output - target))


def trainer(**options):
    given = {"model": lambda x: 2 * x, "criterion": distance, "optimizer": Steps(), "dataset": PAIRS}
    return Trainer(**(given | options))


@pytest.mark.parametrize(
    "options,error,words",
    [
        ({"optimizer": Steps}, TypeError, r"optimizer is the class Steps: make one, Steps\(...\)"),
        ({"criterion": Loss}, TypeError, "criterion is the class Loss"),
        ({"criterion": lambda o, t: 3.0}, TypeError, r"a loss with backward\(\), a Tensor; got a float"),
        ({"dataset": []}, ValueError, "the data set, a list, gave no batches in epoch 1"),
    ],
)
def test_parts_that_do_not_fit_are_named(options, error, words):
    with pytest.raises(error, match=words):
        trainer(**options).run()


def test_a_generator_that_is_used_up_is_told_in_the_second_epoch():
    with pytest.raises(ValueError, match="a generator, gave no batches in epoch 2 .*gives its batches once"):
        trainer(dataset=(pair for pair in PAIRS)).run(2)


@pytest.mark.parametrize("epochs", [-1, None, 1.5, "3"])
def test_epochs_are_counted(epochs):
    with pytest.raises(ValueError, match=f"epochs is a number from 0 on, got {epochs!r}"):
        trainer().run(epochs)
    trainer().run(0)


def test_what_is_no_plugin_is_refused():
    with pytest.raises(TypeError, match=r"the class LossMonitor: make one, LossMonitor\(...\)"):
        trainer().register_plugin(LossMonitor)
    with pytest.raises(TypeError, match="expected a plugin, got None"):
        trainer().register_plugin(None)
    with pytest.raises(TypeError, match=r"interval is a list of pairs such as \(1, 'epoch'\), got 3"):
        trainer().register_plugin(Logger(["loss"], interval=3))


def test_a_plugin_counts_once():
    one, monitor = trainer(), LossMonitor()
    one.register_plugin(monitor)
    with pytest.raises(ValueError, match="this LossMonitor is registered already"):
        one.register_plugin(monitor)
    one.register_plugin(LossMonitor())


def test_a_logger_tells_what_it_could_show():
    with pytest.raises(TypeError, match=r"fields is a list of names, got one str: Logger\(\['loss'\]\)"):
        Logger("loss")
    one = trainer()
    one.register_plugin(Logger(["loss"]))
    with pytest.raises(KeyError, match=r"no 'loss' in the statistics; register a monitor, such as LossMonitor\(\)"):
        one.run()


def test_a_path_with_unknown_fields_is_refused_before_training():
    with pytest.raises(ValueError, match=r"only \{epoch\} and \{iteration\}, got 'run/\{loss\}.pt'"):
        Checkpoint("run/{loss}.pt")


@pytest.mark.parametrize("state", [{"model": {}}, torch.ones(1), None])
def test_a_state_of_something_else_is_refused(state):
    with pytest.raises(
        ValueError, match=r"this is not what Trainer.state_dict\(\) gives, a dict of iterations, epochs"
    ):
        trainer().load_state_dict(state)
