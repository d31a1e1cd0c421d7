"""Objects that give and take their state."""

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """Anything with ``state_dict`` and ``load_state_dict``: a module, an optimizer, a loader."""

    def state_dict(self) -> dict[str, Any]:
        """What there is to save."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was saved."""
