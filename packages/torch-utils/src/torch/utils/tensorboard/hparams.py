"""Hyperparameters: one session with its settings, and the metrics to compare sessions by."""

from __future__ import annotations

import time

from . import proto
from .summary import number, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


TYPES = {str: 1, bool: 2, float: 3, int: 3}  # DataType: STRING, BOOL, FLOAT64


def plain(name: str, x: Any) -> Any:
    """A setting as str, bool or float."""
    if isinstance(x, (bool, str)):
        return x
    if isinstance(x, (int, float)) or hasattr(x, "item"):
        return number(f"add_hparams: {name!r}", x)
    raise TypeError(f"add_hparams: {name!r} must be a number, str or bool, got {type(x).__name__}")


def struct_value(x: Any) -> bytes:
    """google.protobuf.Value: number_value 2, string_value 3, bool_value 4."""
    if isinstance(x, bool):
        return proto.integer(4, x)
    return proto.data(3, x) if isinstance(x, str) else proto.double(2, x)


def summaries(hparam_dict: dict, metric_dict: dict, hparam_domain_discrete: dict | None) -> list[bytes]:
    """The three summaries: experiment (settings and metrics there are), the session's start, its end."""
    for what, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            raise TypeError(f"add_hparams: {what} must be a dict, got {type(given).__name__}")
    domains = hparam_domain_discrete or {}
    if unknown := set(domains) - set(hparam_dict):
        raise ValueError(f"add_hparams: hparam_domain_discrete names {sorted(unknown)}, which are not in hparam_dict")
    settings = {name: plain(name, x) for name, x in hparam_dict.items()}
    infos = b""
    for name, x in settings.items():  # HParamInfo: name 1, type 4, domain_discrete 5 {values 1}
        values = [plain(name, v) for v in domains.get(name, ())]
        if any(type(v) is not type(x) for v in values):
            raise TypeError(
                f"add_hparams: hparam_domain_discrete[{name!r}] must hold only {type(x).__name__}, got {values}"
            )
        domain = proto.data(5, b"".join(proto.data(1, struct_value(v)) for v in values)) if values else b""
        infos += proto.data(4, proto.data(1, name) + proto.integer(4, TYPES[type(x)]) + domain)
    for name in metric_dict:  # MetricInfo: name 1 {tag 2}
        infos += proto.data(5, proto.data(1, proto.data(2, name)))
    start = proto.entries(1, {name: struct_value(x) for name, x in settings.items()}) + proto.double(5, time.time())
    end = proto.integer(1, 1) + proto.double(2, time.time())  # STATUS_SUCCESS
    # HParamsPluginData: version 1, experiment 2, session_start_info 3, session_end_info 4
    return [
        value(f"_hparams_/{name}", b"", "hparams", proto.integer(1, 0) + proto.data(field, content))
        for name, field, content in (
            ("experiment", 2, infos),
            ("session_start_info", 3, start),
            ("session_end_info", 4, end),
        )
    ]
