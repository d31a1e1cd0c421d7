"""What a compiler knows while it looks at a program: there is none, so nothing."""


def active_fake_mode():
    """The mode that makes tensors without memory in force: None, ``device="meta"`` does that here."""


def detect_fake_mode(inputs=None):
    """The mode that the inputs were made under: None."""


class TracingContext:
    """What a compilation in progress knows."""

    @staticmethod
    def try_get():
        """The compilation in progress: None."""

    @staticmethod
    def get():
        """Raises RuntimeError: no compilation is in progress."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace: there is no compiler here")
