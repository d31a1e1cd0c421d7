"""The training loop: events in their order, averages, lines, resuming."""

import io

import pytest
import torch
from torch.utils.trainer import Trainer
from torch.utils.trainer.plugins import (
    AccuracyMonitor,
    Checkpoint,
    Evaluation,
    Logger,
    LossMonitor,
    MetricMonitor,
    Monitor,
    Plugin,
    ProgressBar,
    ProgressMonitor,
    TimeMonitor,
)

BATCHES = [(torch.full((n,), float(n)), torch.zeros(n)) for n in (1, 3, 2)]


class Scale:
    """A model of one number, without gradients: its criterion's `backward` leaves the derivative by hand."""

    def __init__(self, weight=1.0):
        self.weight, self.gradient, self.training = weight, 0.0, True

    def __call__(self, x):
        self.input = x
        return x * self.weight

    def loss(self, output, target):
        return Loss(self, output, target)

    def train(self):
        self.training = True

    def eval(self):
        self.training = False

    def state_dict(self):
        return {"weight": self.weight}

    def load_state_dict(self, state):
        self.weight = state["weight"]


class Loss:
    """The mean square of the difference."""

    def __init__(self, model, output, target):
        self.model, self.difference = model, output - target

    def __float__(self):
        return float((self.difference**2).mean())

    def backward(self):
        self.model.gradient += float((2 * self.difference * self.model.input).mean())


class Descent:
    def __init__(self, model, lr, looks=1):
        self.model, self.lr, self.looks = model, lr, looks

    def zero_grad(self):
        self.model.gradient = 0.0

    def step(self, closure):
        for _ in range(self.looks):
            closure()
            self.model.weight -= self.lr * self.model.gradient

    def state_dict(self):
        return {"lr": self.lr}

    def load_state_dict(self, state):
        self.lr = state["lr"]


def trainer(lr=0.01, looks=1, batches=BATCHES):
    model = Scale()
    return Trainer(model, model.loss, Descent(model, lr, looks), batches)


def weights(lr):
    """The weight before each step, by hand: the loss of batch n is (n w)^2, its derivative 2 n^2 w."""
    w, found = 1.0, []
    for n in (1, 3, 2):
        found.append(w)
        w -= lr * 2 * n * n * w
    return [*found, w]


class Recorder(Plugin):
    def __init__(self, interval):
        super().__init__(interval)
        self.calls = []

    def batch(self, i, input, target):
        self.calls.append(("batch", i, len(input), self.trainer.model.weight))

    def iteration(self, i, input, target, output, loss):
        self.calls.append(("iteration", i, float(output[0]), float(loss)))

    def update(self, i, model):
        self.calls.append(("update", i, model.weight))

    def epoch(self, epoch):
        self.calls.append(("epoch", epoch))


def test_events_come_in_their_order_with_the_values_of_their_time():
    t = trainer(lr=0.01)
    recorder = Recorder([(1, e) for e in ("epoch", "update", "batch", "iteration")])
    t.register_plugin(recorder)
    t.run()
    w = weights(0.01)
    expected = []
    for i, n in enumerate((1, 3, 2)):
        output = pytest.approx(n * w[i])
        expected += [("batch", i + 1, n, pytest.approx(w[i]))]
        expected += [("iteration", i + 1, output, pytest.approx((n * w[i]) ** 2, rel=1e-6))]
        expected += [("update", i + 1, pytest.approx(w[i + 1]))]
    assert recorder.calls == [*expected, ("epoch", 1)]


def test_intervals_count_over_epochs():
    t = trainer()
    recorder = Recorder([(2, "update"), (3, "epoch")])
    t.register_plugin(recorder)
    t.run(4)
    assert [(event, n) for event, n, *_ in recorder.calls] == [
        *[("update", 2), ("update", 4), ("update", 6), ("update", 8), ("epoch", 3), ("update", 10), ("update", 12)]
    ]
    assert (t.iterations, t.epochs) == (12, 4)
    t.run()
    assert (t.iterations, t.epochs) == (15, 5)


def test_an_optimizer_that_looks_twice_shows_the_first_loss():
    t = trainer(looks=2)
    recorder = Recorder([(1, "iteration")])
    t.register_plugin(recorder)
    t.run()
    assert recorder.calls[0] == ("iteration", 1, 1.0, 1.0)


def test_averages_are_those_of_their_definitions():
    t = trainer(lr=0.0)
    t.register_plugin(LossMonitor(smoothing=0.5))
    t.run()
    loss = t.stats["loss"]
    assert loss["last"] == 4
    assert loss["running_avg"] == pytest.approx((1 * 0.5 + 9 * 0.5) * 0.5 + 4 * 0.5)
    assert loss["epoch_mean"] == pytest.approx((1 * 1 + 9 * 3 + 4 * 2) / 6)  # a batch counts by its samples
    t.run()
    assert loss["epoch_mean"] == pytest.approx(6)


def test_averages_may_be_left_out():
    t = trainer(lr=0.0)
    t.register_plugin(LossMonitor(running_average=False, epoch_average=False, number_format=".1e", unit=" J"))
    out = io.StringIO()
    t.register_plugin(Logger(["loss"], file=out))
    t.run()
    assert out.getvalue().splitlines() == ["loss: 1.0e+00 J", "loss: 9.0e+00 J", "loss: 4.0e+00 J"]
    assert set(t.stats["loss"]) == {"last", "log_iter_fields", "log_epoch_fields"}
    with pytest.raises(ValueError, match=r"LossMonitor: smoothing is 1, not in \[0, 1\)"):
        LossMonitor(smoothing=1)


def test_accuracy_is_a_percentage():
    model = Scale()
    scores = torch.tensor([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    t = Trainer(model, lambda o, y: Loss(model, o, o), Descent(model, 0.0), [(scores, torch.tensor([1, 0, 2, 1]))])
    t.register_plugin(AccuracyMonitor())
    t.run()
    assert t.stats["accuracy"]["epoch_mean"] == 75
    assert t.stats["accuracy"]["log_epoch_fields"] == ["{epoch_mean:.2f}%"]
    t = trainer()
    t.register_plugin(AccuracyMonitor())
    with pytest.raises(ValueError, match=r"scores \(N, C\) and classes \(N\) are needed, got \(1,\) and \(1,\)"):
        t.run()


def test_a_metric_is_any_function():
    t = trainer(lr=0.0)
    t.register_plugin(MetricMonitor("size", lambda output, target: len(output), running_average=False))
    t.run()
    assert t.stats["size"]["epoch_mean"] == pytest.approx((1 + 9 + 4) / 6)


def test_time_is_in_milliseconds(monkeypatch):
    from torch.utils.trainer.plugins import time

    clock = iter([10.0, 10.5, 10.6, 11.6, 11.7])
    monkeypatch.setattr(time.time, "perf_counter", lambda: next(clock))
    t = trainer()
    t.register_plugin(TimeMonitor())
    t.run()
    assert t.stats["time"]["last"] == pytest.approx(1000)
    assert t.stats["time"]["epoch_mean"] == pytest.approx(1600 / 3)
    assert t.stats["time"]["log_iter_fields"][0] == "{last:.1f}ms"


def test_progress_and_lines():
    t, out = trainer(lr=0.0), io.StringIO()
    for plugin in (ProgressMonitor(), LossMonitor(precision=1), Logger(["progress", "loss", "loss.last"], file=out)):
        t.register_plugin(plugin)
    t.run(1)
    assert out.getvalue().splitlines() == [
        "progress: 1/3 (33.33%)  loss: 1.0 (1.0)  loss.last: 1.0000",
        "progress: 2/3 (66.67%)  loss: 9.0 (3.4)  loss.last: 9.0000",
        "progress: 3/3 (100.00%)  loss: 4.0 (3.6)  loss.last: 4.0000",
        "epoch 1: loss: 6.0  loss.last: 4.0000",
    ]
    t, out = trainer(batches=iter(BATCHES)), io.StringIO()
    for plugin in (ProgressMonitor(), Logger(["progress"], file=out)):
        t.register_plugin(plugin)
    t.run()
    assert out.getvalue() == "progress: 1\nprogress: 2\nprogress: 3\n"


@pytest.mark.parametrize(("field", "says"), [("lost", "there is no 'lost' in"), ("loss.mean", "'loss.mean' is not in")])
def test_fields_that_are_not_there_are_named(field, says):
    t = trainer()
    t.register_plugin(LossMonitor())
    t.register_plugin(Logger([field]))
    with pytest.raises(KeyError, match=says):
        t.run()


def test_a_bar_shows_each_epoch():
    pytest.importorskip("tqdm")
    t, out = trainer(lr=0.0), io.StringIO()
    t.register_plugin(LossMonitor(smoothing=0.0))
    t.register_plugin(ProgressBar(file=out, mininterval=0))
    t.run(2)
    assert "epoch 1: 100%" in out.getvalue()
    assert "epoch 2: 100%" in out.getvalue()
    assert "3/3" in out.getvalue()
    assert "loss=4" in out.getvalue()


def test_a_plugin_may_stop_the_run():
    class Stop(Plugin):
        def iteration(self, i, *_):
            if i == 5:
                self.trainer.stop()

    t = trainer()
    t.register_plugin(Stop([(1, "iteration")]))
    t.run(10)
    assert (t.iterations, t.epochs) == (5, 2)
    t.run(1)
    assert t.iterations == 8


def test_evaluation_leaves_the_model_as_it_was():
    t = trainer(lr=0.0)
    modes = []

    def error(output, target):
        modes.append(t.model.training)
        return (output - target).abs().mean()

    t.register_plugin(Evaluation(BATCHES, {"error": error}))
    t.register_plugin(Evaluation(BATCHES[:1], name="first"))
    out = io.StringIO()
    t.register_plugin(Logger(["test", "first"], [(1, "epoch")], file=out))
    t.run()
    assert modes == [False] * 3
    assert t.model.training
    assert t.stats["test"]["error"] == pytest.approx((1 + 9 + 4) / 6)
    assert out.getvalue() == "epoch 1: test: error 2.3333  first: loss 1.0000\n"
    t = trainer()
    t.register_plugin(Evaluation([]))
    with pytest.raises(ValueError, match="Evaluation 'test': the data set gave no samples"):
        t.run()


def complete(path, **options):
    t = trainer()
    for plugin in (LossMonitor(), ProgressMonitor(), Recorder([(1, "update")]), Checkpoint(path, **options)):
        t.register_plugin(plugin)
    return t


def test_a_resumed_run_ends_where_the_whole_run_ends(tmp_path):
    pytest.importorskip("torch.serialize", exc_type=ImportError)
    whole = complete(tmp_path / "{epoch}.pt")
    whole.run(4)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.pt", "2.pt", "3.pt", "4.pt"]
    again = complete(tmp_path / "again.pt")
    again.resume(tmp_path / "2.pt")
    assert (again.epochs, again.iterations) == (2, 6)
    again.run(4 - again.epochs)
    assert again.model.weight == whole.model.weight
    assert again.stats == whole.stats
    assert again.plugins[2].calls == whole.plugins[2].calls[6:]


def test_the_best_checkpoint_is_kept(tmp_path):
    pytest.importorskip("torch.serialize", exc_type=ImportError)
    t = complete(tmp_path / "{epoch}.pt", best="loss.epoch_mean")
    rates = iter([0.01, 0.01, -0.5, 0.01])

    class Rates(Plugin):
        def epoch(self, epoch):
            self.trainer.optimizer.lr = next(rates)

    t.register_plugin(Rates([(1, "epoch")]))
    t.run(4)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.pt", "2.pt", "3.pt"]  # the fourth loss has risen


def test_a_state_of_other_plugins_is_refused(tmp_path):
    state = complete(tmp_path / "x").state_dict()
    with pytest.raises(ValueError, match="the state is of 4 plugins, and 0 are registered"):
        trainer().load_state_dict(state)


@pytest.mark.parametrize(
    ("interval", "error", "says"),
    [
        ([(1, "step")], ValueError, "Recorder waits for 'step'; events are 'iteration', 'batch'"),
        ([(0, "epoch")], ValueError, "Recorder: an interval is a number of times from 1 on, got 0"),
    ],
)
def test_intervals_are_checked_at_registration(interval, error, says):
    t = trainer()
    with pytest.raises(error, match=says):
        t.register_plugin(Recorder(interval))
    assert t.plugins == []


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match=r"no criterion and no dataset was given: Trainer\(criterion=...\)"):
        Trainer(model=1, optimizer=1).run()
    with pytest.raises(TypeError, match="Plugin waits for 'batch' and has no method batch"):
        trainer().register_plugin(Plugin([(1, "batch")]))
    with pytest.raises(TypeError, match=r"gives pairs \(input, target\), got 3 things in a tuple"):
        trainer(batches=[(1, 2, 3)]).run()
    with pytest.raises(NotImplementedError, match="Monitor needs a method _get_value"):
        t = trainer()
        t.register_plugin(Monitor())
        t.run()
    t = trainer(looks=0)
    with pytest.raises(RuntimeError, match="Descent.step.closure. returned without calling the closure"):
        t.run()


def test_real_modules_and_optimizers_train_and_resume(tmp_path):
    nn = pytest.importorskip("torch.nn", exc_type=ImportError)
    optim = pytest.importorskip("torch.optim", exc_type=ImportError)
    from torch.utils.data import DataLoader, TensorDataset

    def make():
        torch.manual_seed(3)
        x = torch.randn(64, 4)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2))
        loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=16, shuffle=True)
        t = Trainer(net, nn.functional.cross_entropy, optim.Adam(net.parameters(), lr=0.05), loader)
        for plugin in (LossMonitor(), AccuracyMonitor(), Checkpoint(tmp_path / "{epoch}.pt")):
            t.register_plugin(plugin)
        return t

    whole = make()
    whole.run(6)
    assert whole.stats["accuracy"]["epoch_mean"] > 75
    again = make()
    again.resume(tmp_path / "3.pt")
    again.run(3)
    assert again.stats["loss"] == whole.stats["loss"]
    for name, value in whole.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], value), name
