"""Warnings of PyTorch 0.2 about programs written for 0.1.

``broadcast_warning`` and ``keepdim_warning`` have the attribute `enabled`, which is False: shapes broadcast and reductions
drop their dim, as they have since 0.2.
"""


class Warning:
    """A warning that is not given any more."""

    def __init__(self, about: str):
        self._about = about

    @property
    def enabled(self) -> bool:
        return False

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if value:
            raise NotImplementedError(
                f"torch.utils.backcompat: {self._about} is as in 0.2 and later, and no warning is given where 0.1 differed"
            )


broadcast_warning = Warning("broadcasting")
keepdim_warning = Warning("keepdim=False, the default of reductions,")
