"""Streams and events of a device."""

from ._absent import kind


def _priority_range():
    """The lowest and the highest priority of a stream: both are 0 without a device.

    >>> torch.cuda.Stream.priority_range()
    (0, 0)
    """
    return 0, 0


Stream = kind(
    "Stream",
    ("query", "record_event", "synchronize", "wait_event", "wait_stream"),
    priority=0,
    priority_range=staticmethod(_priority_range),
)
Event = kind(
    "Event",
    ("elapsed_time", "from_ipc_handle", "ipc_handle", "query", "record", "synchronize", "wait"),
    DEFAULT=0,
    BLOCKING_SYNC=1,
    DISABLE_TIMING=2,
    INTERPROCESS=4,
)
EventHandle = kind("EventHandle")
ExternalStream = type("ExternalStream", (Stream,), {"__module__": "torch.cuda"})
