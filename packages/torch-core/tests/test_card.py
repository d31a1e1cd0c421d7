"""What a notebook shows of a tensor."""

import struct
import zlib
from base64 import b64decode

import pytest
import torch
from torch._card import facts, picture


def decoded(text):
    """Width, height, channels and rows of bytes of a PNG without filters."""
    data = b64decode(text)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + body)
        parts[name] = body
        at += 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    channels = {0: 1, 2: 3, 6: 4}[kind]
    raw = zlib.decompress(parts[b"IDAT"])
    line = 1 + width * channels
    assert depth == 8 and len(raw) == height * line and all(raw[i * line] == 0 for i in range(height))
    return width, height, channels, [list(raw[i * line + 1 : (i + 1) * line]) for i in range(height)]


def test_the_card_tells_shape_dtype_device_and_range():
    x = torch.tensor([[1.0, float("nan")], [3.0, float("inf")]])
    assert facts(x) == [
        ("shape", "(2, 2)"),
        ("dtype", "torch.float32"),
        ("device", "cpu"),
        ("min, mean, max", "1, 2, 3"),
        ("NaN", "1"),
        ("infinite", "1"),
    ]
    page = x._repr_html_()
    assert "torch.float32" in page and "<img" not in page and "&lt;" not in page


class Tagged(torch.Tensor):
    def __repr__(self):
        return "<b>"


def test_text_of_a_tensor_is_escaped():
    page = torch.Tensor._make_subclass(Tagged, torch.ones(2))._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page


@pytest.mark.parametrize(
    "tensor, last",
    [
        (torch.tensor([True, False, True]), ("True", "2 of 3")),
        (torch.tensor([1, 2, 6]), ("min, mean, max", "1, 3, 6")),
        (torch.tensor([1 + 1j, complex("nan")]), ("NaN", "1")),
        (torch.empty(0), ("device", "cpu")),
        (torch.empty(3, device="meta"), ("device", "meta")),
        (torch.full((3,), float("nan")), ("NaN", "3")),
        (torch.eye(3).to_sparse(), ("layout", "torch.sparse_coo")),
    ],
)
def test_each_kind_of_tensor_has_a_card(tensor, last):
    assert facts(tensor)[-1] == last
    assert isinstance(tensor._repr_html_(), str)


def test_bytes_and_unit_ranges_are_shown_as_they_are():
    x = torch.arange(96, dtype=torch.uint8).reshape(8, 12)
    assert decoded(picture(x)) == (12, 8, 1, x.tolist())
    unit = torch.linspace(0, 1, 3 * 8 * 9).reshape(3, 8, 9)
    width, height, channels, rows = decoded(picture(unit))
    assert (width, height, channels) == (9, 8, 3)
    assert rows == (unit.double().permute(1, 2, 0) * 255).round().int().reshape(8, 27).tolist()


def test_other_ranges_go_from_smallest_to_largest():
    x = torch.arange(64.0).reshape(8, 8) - 32
    rows = decoded(picture(x))[3]
    assert rows[0][0] == 0 and rows[-1][-1] == 255


def test_a_large_image_is_thinned_out():
    assert decoded(picture(torch.zeros(300, 500)))[:2] == (125, 75)


@pytest.mark.parametrize("shape", [(3,), (7, 9), (2, 8, 8), (1, 3, 8, 8), (3, 4, 4)])
def test_what_is_no_image_has_no_picture(shape):
    assert picture(torch.zeros(shape)) is None
