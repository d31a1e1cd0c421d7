"""Metrics, events and time limits of jobs."""

import json
import logging
import multiprocessing
import signal
import time

import pytest
from torch.distributed.elastic import events, metrics, timer


class Kept(metrics.MetricHandler):
    def __init__(self):
        self.seen = []

    def emit(self, metric_data):
        self.seen.append(metric_data)


def test_numbers_go_to_the_handler_of_their_group(monkeypatch, capsys):
    monkeypatch.setattr(metrics, "_handlers", dict(metrics._handlers))
    kept = Kept()
    metrics.configure(kept, "one")
    metrics.put_metric("x", 3, "one")
    metrics.put_metric("x", 4, "two")
    assert [(m.group_name, m.name, m.value) for m in kept.seen] == [("one", "x", 3)]
    metrics.configure(metrics.ConsoleMetricHandler())
    metrics.getStream("two").add_value("y", 5)
    assert capsys.readouterr().out.endswith("[two]: y=5\n")
    with pytest.raises(TypeError, match="must be a MetricHandler, got 3"):
        metrics.configure(3)


def test_calls_are_counted_and_timed(monkeypatch):
    monkeypatch.setattr(metrics, "_handlers", dict(metrics._handlers))
    kept = Kept()
    metrics.configure(kept)

    class Work:
        @metrics.prof
        def done(self):
            time.sleep(0.01)
            return 1

        @metrics.prof(group="bad")
        def fails(self):
            return 1 / 0

    assert Work().done() == 1
    with pytest.raises(ZeroDivisionError):
        Work().fails()
    seen = [(m.group_name, m.name.rpartition("<locals>.")[2]) for m in kept.seen]
    assert seen == [
        ("torchelastic", "Work.done.success"),
        ("torchelastic", "Work.done.duration.ms"),
        ("bad", "Work.fails.failure"),
        ("bad", "Work.fails.duration.ms"),
    ]
    assert kept.seen[1].value >= 10


def test_events_are_lines_of_json(monkeypatch, capsys):
    class Lines(logging.Handler):
        lines: list = []

        def emit(self, record):
            self.lines.append(record.getMessage())

    monkeypatch.setitem(events.handlers, "lines", Lines())
    event = events.Event("restart", events.EventSource.AGENT, 3, {"round": 2, "why": None})
    events.record(event, "lines")
    events.record(event)
    (line,) = Lines.lines
    expected = {"name": "restart", "source": "AGENT", "timestamp": 3, "metadata": {"round": 2, "why": None}}
    assert json.loads(line) == expected
    assert events.Event.deserialize(line) == event
    events.record(event, "console")
    assert json.loads(capsys.readouterr().err) == expected
    with pytest.raises(ValueError, match="no handler is called 'file'; there are console, lines, null"):
        events.record(event, "file")


def too_slow(requests):
    timer.configure(timer.LocalTimerClient(requests))
    with timer.expires(after=60):
        pass
    with timer.expires(after=0.2):
        time.sleep(60)


def in_time(requests):
    with timer.expires(after=0.2, scope="quick", client=timer.LocalTimerClient(requests)):
        pass
    time.sleep(1)


@pytest.mark.parametrize(("work", "end"), [(too_slow, -signal.SIGKILL), (in_time, 0)])
def test_a_process_that_exceeds_its_time_is_killed(work, end):
    context = multiprocessing.get_context("fork")
    requests = context.Queue()
    server = timer.LocalTimerServer(requests, max_interval=0.1)
    process = context.Process(target=work, args=(requests,))
    process.start()  # before the thread of the server: a fork has only one thread
    server.start()
    process.join(30)
    server.stop()
    assert process.exitcode == end


def test_time_limits_need_a_client(monkeypatch):
    monkeypatch.setattr(timer, "_client", [])
    with pytest.raises(RuntimeError, match="call configure with a client before"), timer.expires(after=1):
        pass
    with pytest.raises(NotImplementedError, match="through a queue, not a file"):
        timer.FileTimerServer("x", "y")
