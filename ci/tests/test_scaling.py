"""The arithmetic of scaling, and the page that is made of stored measurements."""

import json
import math

import pytest
import scaling


@pytest.mark.parametrize("way", scaling.WAYS.values())
def test_without_latency_and_work_all_ways_take_the_time_of_the_bytes(way):
    """A rank sends and receives its n (p - 1) / p bytes twice, and adds them once."""
    for p in scaling.RANKS:
        assert way(p, 1000, 0, 2e-9, 1e-9, 0) == pytest.approx((p - 1) / p * 1000 * 5e-9)


def test_messages_grow_as_the_ways_say():
    for p in scaling.RANKS:
        assert scaling.ring(p, 0, 1, 0, 0, 0) == 2 * (p - 1)
        assert scaling.halving(p, 0, 1, 0, 0, 0) == 2 * math.log2(p)
        assert scaling.direct(p, 0, 1, 0, 0, 1) == 2 + 2 * (p - 2)


def test_what_backward_hides_costs_nothing_but_the_last_bucket():
    model = {"bytes": 1 << 24, "forward": 1.0, "backward": 2.0, "update": 0.0}
    free = scaling.efficiency(scaling.ring, 8, model, 0, 0, 0, 0)
    hidden = scaling.efficiency(scaling.ring, 8, model, 0, 1e-8, 0, 0)
    last = scaling.ring(8, 1 << 20, 0, 1e-8, 0, 0)
    assert free == 1
    assert hidden == pytest.approx(3 / (3 + last))
    assert scaling.efficiency(scaling.ring, 8, model, 0, 1e-6, 0, 0) < 0.2


def test_the_page_is_what_the_script_makes_of_the_numbers():
    numbers = json.loads(scaling.NUMBERS.read_text())
    assert scaling.PAGE.read_text() == scaling.page(numbers)
    for way in ("one machine", "TCP"):
        assert all(x > 0 for x in scaling.constants(numbers, way))
