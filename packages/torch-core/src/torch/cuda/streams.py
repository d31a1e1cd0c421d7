"""Streams and events of a device."""

from ._absent import kind

Stream = kind(
    "Stream",
    ("query", "record_event", "synchronize", "wait_event", "wait_stream"),
    priority=0,
    priority_range=staticmethod(lambda: (0, 0)),
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
