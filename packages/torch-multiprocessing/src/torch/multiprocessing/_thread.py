"""The name of a thread, as `ps -L`, `top -H` and debuggers show it."""

_FILE = "/proc/thread-self/comm"


def _set_thread_name(name: str) -> None:
    """Names the calling thread; the system keeps the first 15 bytes."""
    with open(_FILE, "wb", buffering=0) as file:
        file.write(name.encode())


def _get_thread_name() -> str:
    """The name of the calling thread."""
    with open(_FILE, "rb") as file:
        return file.read().rstrip(b"\n").decode(errors="replace")
