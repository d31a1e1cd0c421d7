"""How the machines of a job meet: what goes wrong there has a class of its own."""

__all__ = ["RendezvousClosedError", "RendezvousConnectionError", "RendezvousError", "RendezvousParameters",
           "RendezvousStateError", "RendezvousTimeoutError"]  # fmt: skip


class RendezvousError(RuntimeError):
    """Machines did not meet."""


class RendezvousClosedError(RendezvousError):
    """The job is over, or has no room."""


class RendezvousTimeoutError(RendezvousError):
    """Too few machines came in time."""


class RendezvousConnectionError(RendezvousError):
    """The store where machines meet cannot be reached."""


class RendezvousStateError(RendezvousError):
    """What lies in the store does not fit."""


class RendezvousParameters:
    """Where and how machines meet, with settings by name.

    >>> params = RendezvousParameters("c10d", "first.example:29400", "7", 1, 4, join_timeout="60", is_host="true")
    >>> params.get_as_int("join_timeout"), params.get_as_bool("is_host"), params.get("silence", 15)
    (60, True, 15)
    """

    def __init__(
        self, backend: str, endpoint: str, run_id: str, min_nodes: int, max_nodes: int, local_addr=None, **kwargs
    ):
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1:
            raise ValueError(f"The minimum number of rendezvous nodes ({min_nodes}) must be greater than zero.")
        if max_nodes < min_nodes:
            raise ValueError(
                f"The maximum number of rendezvous nodes ({max_nodes}) must be greater than or equal to the minimum number "
                f"of rendezvous nodes ({min_nodes})."
            )
        self.backend, self.endpoint, self.run_id, self.local_addr = backend, endpoint, run_id, local_addr
        self.min_nodes, self.max_nodes, self.config = min_nodes, max_nodes, kwargs

    def get(self, key: str, default=None):
        """A setting as it was given."""
        return self.config.get(key, default)

    def get_as_bool(self, key: str, default=None):
        """A setting as a bool."""
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and value.lower() in _TRUE + _FALSE:
            return value.lower() in _TRUE
        raise ValueError(
            f"The rendezvous configuration option '{key}' does not represent a valid boolean value: {value!r}"
        )

    def get_as_int(self, key: str, default=None):
        """A setting as an int."""
        value = self.get(key, default)
        try:
            return value if value is None else int(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"The rendezvous configuration option '{key}' does not represent a valid integer value: {value!r}"
            ) from None


_TRUE, _FALSE = ("1", "true", "t", "yes", "y"), ("0", "false", "f", "no", "n")
