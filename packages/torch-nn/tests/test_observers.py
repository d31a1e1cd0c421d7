"""Observers and rounding modules. Scales and zero points were recorded from PyTorch 2.13."""

import copy

import pytest
import torch
from torch.ao import quantization as q

X = torch.tensor([[-1.5, 0.2, 3.0], [0.5, -0.25, 1.0]])


def close(found, expected):
    return torch.allclose(found, torch.tensor(expected), atol=6e-5)


@pytest.mark.parametrize(
    "name, arguments, scale, zero",
    [
        ("MinMaxObserver", {}, [0.0353], [85]),
        ("MinMaxObserver", {"reduce_range": True}, [0.0709], [42]),
        ("MinMaxObserver", {"dtype": torch.qint8}, [0.0353], [-43]),
        ("MinMaxObserver", {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}, [0.0471], [0]),
        ("MinMaxObserver", {"dtype": torch.quint8, "qscheme": torch.per_tensor_symmetric}, [0.0471], [128]),
        ("MinMaxObserver", {"quant_min": 0, "quant_max": 15}, [0.6], [5]),
        ("MovingAverageMinMaxObserver", {}, [0.0178], [85]),
        ("PerChannelMinMaxObserver", {"dtype": torch.qint8, "qscheme": torch.per_channel_symmetric}, [0.0471, 0.0157], [0, 0]),
        ("PerChannelMinMaxObserver", {"ch_axis": 1}, [0.0157, 0.0035, 0.0235], [191, 142, 0]),
        ("MovingAveragePerChannelMinMaxObserver", {"averaging_constant": 1.0}, [9 / 255, 2.5 / 255], [85, 51]),
    ],
)  # fmt: skip
def test_scales_follow_from_what_was_seen(name, arguments, scale, zero):
    observer = getattr(q, name)(**arguments)
    assert observer(X) is X
    observer(X * 2)
    found = observer.calculate_qparams()
    assert close(found[0], scale) and found[1].tolist() == zero


def test_before_anything_was_seen_the_scale_is_one():
    for observer in (q.MinMaxObserver(), q.PerChannelMinMaxObserver(), q.HistogramObserver()):
        observer(torch.empty(0))
        with pytest.warns(UserWarning, match="calibrate before the scale is asked for"):
            assert observer.calculate_qparams()[0].tolist() == [1]
    observer = q.MinMaxObserver()
    observer(torch.zeros(3))
    assert observer.calculate_qparams()[0].item() == pytest.approx(torch.finfo(torch.float32).eps)


@pytest.mark.parametrize(
    "options, scale, zero_point, bounds",
    [
        ({}, 0.05463389, 128, (-7.0, 6.931641)),
        ({"reduce_range": True}, 0.10969796, 64, (-7.0, 6.931641)),
        ({"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}, 0.05490196, 0, (-7.0, 6.931641)),
        ({"bins": 64}, 0.05404412, 130, (-7.0, 6.78125)),
    ],
)
def test_a_histogram_finds_the_range_that_pytorch_finds(options, scale, zero_point, bounds):  # recorded
    x = torch.linspace(-1, 1, 2001)
    h = q.HistogramObserver(**options)
    h(x**5 * 4)
    h(x**9 * 7)
    found, zero = h.calculate_qparams()
    assert found.item() == pytest.approx(scale, rel=1e-5) and zero.item() == zero_point
    assert [b.item() for b in h._non_linear_param_search()] == pytest.approx(bounds, rel=1e-5)


def test_a_histogram_clips_what_is_rare():
    h = q.HistogramObserver()
    h(torch.linspace(-1, 1, 1001))
    assert close(h.calculate_qparams()[0], [0.0078]) and h.calculate_qparams()[1].item() == 128  # recorded
    h(torch.linspace(-3, 2, 1001))
    assert h.histogram.sum() == pytest.approx(2002) and (h.min_val, h.max_val) == (-3, 2)
    assert h.calculate_qparams()[0].item() == pytest.approx(0.0196, abs=2e-4)
    torch.manual_seed(0)
    x = torch.cat([torch.randn(10000), torch.tensor([30.0])])
    errors = []
    for kind in (q.HistogramObserver, q.MinMaxObserver):
        observer = kind()
        observer(x)
        scale, zero = observer.calculate_qparams()
        errors.append((torch.fake_quantize_per_tensor_affine(x, scale.item(), zero.item(), 0, 255) - x).pow(2).mean())
    assert errors[0] < errors[1]
    h(torch.full((3,), float("inf")))
    assert h.max_val == 2


def test_observers_with_a_scale_of_their_own_or_none():
    fixed = q.default_fixed_qparams_range_0to1_fake_quant()
    assert torch.equal(fixed(torch.tensor([0.5, 2.0])), torch.tensor([0.5, 255 / 256]))
    recorded = q.RecordingObserver()
    recorded(X)
    assert torch.equal(recorded.get_tensor_value()[0], X)
    for observer in (recorded, q.NoopObserver(), q.PlaceholderObserver(dtype=torch.float16)):
        with pytest.raises(RuntimeError, match="there is no scale"):
            observer.calculate_qparams()
    assert q.MinMaxObserver.with_args(dtype=torch.qint8).with_args(reduce_range=True)().quant_max == 63
    assert q.MinMaxObserver.with_callable_args(dtype=lambda: torch.qint8)().dtype == torch.qint8


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: q.MinMaxObserver(dtype=torch.float16), NotImplementedError, "quantizes to torch.qint8, quint8, qint32 and quint4x2"),
        (lambda: q.MinMaxObserver(quant_min=3, quant_max=9), ValueError, "expected a range with zero in it, got 3 to 9"),
        (lambda: q.MinMaxObserver(wrong=1), TypeError, "unexpected arguments wrong"),
        (lambda: q.HistogramObserver(bins=1), ValueError, "expected two bins or more, got 1"),
        (lambda: q.QConfig(q.MinMaxObserver(), q.MinMaxObserver), ValueError, "QConfig received observer instance"),
        (lambda: q.get_default_qconfig("tpu"), AssertionError, "no backend 'tpu'"),
        (lambda: q.FakeQuantize(quant_min=3, quant_max=1), AssertionError, "quant_min must be less than or equal to quant_max"),
        (lambda: q.ObserverBase(torch.qint8)(X), NotImplementedError, "a forward of its own"),
        (lambda: q.ObserverBase(torch.qint8).calculate_qparams(), NotImplementedError, "calculate_qparams of its own"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_channels_may_not_change():
    observer = q.PerChannelMinMaxObserver()
    observer(X)
    with pytest.raises(RuntimeError, match="expected 2 channels, got 3"):
        observer(X.t())


def test_rounding_modules_watch_and_round():
    fake = q.FakeQuantize(quant_min=0, quant_max=255)
    y = torch.tensor([[1.0, 2.0, -3.0], [0.5, 0.25, 4.0]])
    assert close(fake(y), [[0.9882, 2.0039, -2.9922], [0.4941, 0.2471, 4.0078]])  # recorded
    assert close(fake.scale, [0.0275]) and fake.zero_point.tolist() == [109]
    fake.disable_observer()
    fake.disable_fake_quant()
    assert fake(y * 2).equal(y * 2) and close(fake.scale, [0.0275])
    fake.apply(q.enable_observer)
    fake.apply(q.enable_fake_quant)
    fused = q.FusedMovingAvgObsFakeQuantize(quant_min=0, quant_max=127, reduce_range=True)
    assert close(fused(y), [[1.0, 2.0, -3.0], [0.4444, 0.2222, 4.0]]) and close(fused.scale, [0.1111])  # recorded
    assert close(fused(y * 2)[0], [2.0200, 4.0400, -3.0300])  # recorded


def test_states_of_channels_are_loaded():
    fake = q.default_fused_per_channel_wt_fake_quant()
    fake(X)
    again = q.default_fused_per_channel_wt_fake_quant()
    again.load_state_dict(fake.state_dict())
    assert torch.equal(again.scale, fake.scale) and torch.equal(
        again.activation_post_process.max_val, torch.tensor([3.0, 1.0])
    )
    assert torch.equal(copy.deepcopy(fake)(X), fake(X)) and "scale=" in repr(fake)


def test_the_fused_form_rounds_weights_by_the_range_from_minus_128_to_127():
    fake = q.default_fused_per_channel_wt_fake_quant()
    w = torch.tensor([[-90.0, 200.0], [-200.0, 50.0]])
    assert close(fake(w), [[-57 * 200 / 127, 200.0], [-200.0, 50.0]])
    assert close(fake.scale, [200 / 127, 200 / 128]) and close(fake.calculate_qparams()[0], [200 / 127.5] * 2)
    assert fake.fake_quant_enabled.dtype is torch.int64
    fake.disable_observer()
    fake.disable_fake_quant()
    assert fake(w * 2).equal(w * 2) and close(fake.scale, [200 / 127, 200 / 128])
    with pytest.raises(AssertionError, match="expected an observer of moving averages, got MinMaxObserver"):
        q.FusedMovingAvgObsFakeQuantize(q.MinMaxObserver)
