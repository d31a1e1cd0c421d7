"""Custom scalars: charts of several scalars each, in the order and under the headings that the user chose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import proto
from .summary import STRING, tensor, value

KINDS = ("Multiline", "Margin")


def layout(charts: Mapping[str, Mapping[str, Iterable]]) -> bytes:
    """Layout: version 1, category 2 {title 1, chart 2 {title 1, multiline 2 {tag 1}, margin 3 {series 1}}}.

    Args:
        charts: ``{category: {title: ["Multiline", tags]}}`` or ``["Margin", [value, lower, upper]]``
    """
    if not isinstance(charts, Mapping) or not all(isinstance(c, Mapping) for c in charts.values()):
        raise TypeError("add_custom_scalars: expected {category: {title: [kind, tags]}}")
    content = proto.integer(1, 0)
    for category, inside in charts.items():
        drawn = b"".join(proto.data(2, proto.data(1, title) + _chart(title, chart)) for title, chart in inside.items())
        content += proto.data(2, proto.data(1, category) + drawn)
    return value("custom_scalars__config__", tensor(STRING, (), proto.data(8, content)), "custom_scalars")


def _chart(title: str, chart) -> bytes:
    what = f"add_custom_scalars: chart {title!r}"
    if not isinstance(chart, (list, tuple)) or len(chart) != 2 or chart[0] not in KINDS:
        raise ValueError(f'{what} is ["Multiline", tags] or ["Margin", [value, lower, upper]], got {chart!r}')
    kind, tags = chart
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise TypeError(f"{what}: tags are a list of str, got {tags!r}")
    if kind == "Multiline":
        return proto.data(2, b"".join(proto.data(1, tag) for tag in tags))
    if len(tags) != 3:
        raise ValueError(f"{what}: a margin has three tags, value, lower and upper; got {len(tags)}")
    return proto.data(3, proto.data(1, b"".join(proto.data(i, tag) for i, tag in enumerate(tags, 1))))
