"""torch.monitor: counters over windows, and events."""

import datetime
import time

import pytest
from torch import monitor
from torch.monitor import Aggregation, Event, Stat

HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def heard():
    events = []
    handle = monitor.register_event_handler(events.append)
    yield events
    monitor.unregister_event_handler(handle)


def test_a_window_ends_with_its_last_sample(heard):
    stat = Stat("loss", list(Aggregation), HOUR, max_samples=3)
    assert set(stat.get().values()) == {0.0} and stat.count == 0 and stat.name == "loss"
    stat.add(2)
    stat.add(5)
    assert stat.count == 2 and stat.get()[Aggregation.SUM] == 0 and not heard
    stat.add(3)
    assert stat.count == 0
    assert stat.get() == {
        Aggregation.VALUE: 3, Aggregation.MEAN: 10 / 3, Aggregation.COUNT: 3, Aggregation.SUM: 10, Aggregation.MAX: 5, Aggregation.MIN: 2,
    }  # fmt: skip
    (event,) = heard
    assert event.name == monitor.STAT_EVENT and event.data["loss.max"] == 5 and event.data["loss.mean"] == 10 / 3


def test_a_window_ends_with_its_time(heard):
    stat = Stat("steps", [Aggregation.SUM], datetime.timedelta(milliseconds=20))
    stat.add(1.5)
    time.sleep(0.05)
    stat.add(7)
    assert heard[0].data == {"steps.sum": 1.5} and stat.count == 1
    time.sleep(0.05)
    assert stat.get() == {Aggregation.SUM: 7} and len(heard) == 2


def test_events_reach_who_asked_for_them_until_they_no_longer_do(heard):
    more = []
    handle = monitor.register_event_handler(more.append)
    event = Event("epoch", datetime.datetime.fromtimestamp(5), {"n": 1, "name": "first", "rate": 0.5})
    monitor.log_event(event)
    monitor.unregister_event_handler(handle)
    monitor.log_event(event)
    assert heard == [event, event] and more == [event]


def test_numbers_go_to_a_writer_of_scalars():
    written = []

    class Writer:
        def add_scalar(self, name, value, walltime):
            written.append((name, value, walltime))

    handler = monitor.TensorboardEventHandler(Writer())
    handler(Event(monitor.STAT_EVENT, datetime.datetime.fromtimestamp(5), {"a.sum": 2.0}))
    handler(Event("else", datetime.datetime.fromtimestamp(6), {"b": 1}))
    assert written == [("a.sum", 2.0, 5.0)]


def test_what_no_event_holds_is_refused():
    with pytest.raises(TypeError, match=r"texts and numbers by name, got 'x': \[1\]"):
        Event("e", datetime.datetime.now(), {"x": [1]})
    with pytest.raises(ValueError, match="must have a length"):
        Stat("s", [Aggregation.SUM], datetime.timedelta(0))
