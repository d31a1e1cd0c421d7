"""Patterns of module names and paths."""

from __future__ import annotations

import re
from collections.abc import Iterable


class GlobGroup:
    """Names that match a pattern of `include` and none of `exclude`.

    ``*`` stands for any letters within a segment, ``**`` as a whole segment for any number of segments, none included.

    >>> group = GlobGroup("torch.**", exclude="torch.nn.*")
    >>> [group.matches(name) for name in ("torch", "torch.fft", "torch.nn", "torch.nn.init")]
    [True, True, True, False]
    """

    def __init__(self, include: str | Iterable[str], *, exclude: str | Iterable[str] = (), separator: str = "."):
        self._text = f"GlobGroup(include={include}, exclude={exclude})"
        self.separator = separator
        self.include, self.exclude = self._patterns(include), self._patterns(exclude)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def matches(self, candidate: str) -> bool:
        """Whether a name is among them."""
        whole = self.separator + candidate
        return any(p.fullmatch(whole) for p in self.include) and not any(p.fullmatch(whole) for p in self.exclude)

    def _patterns(self, given: str | Iterable[str]) -> list[re.Pattern[str]]:
        return [self._pattern(text) for text in ([given] if isinstance(given, str) else given)]

    def _pattern(self, text: str) -> re.Pattern[str]:
        # The candidate has a separator in front, so that each segment brings its own.
        point = re.escape(self.separator)
        parts = []
        for segment in text.split(self.separator):
            if segment == "**":
                parts.append(f"(?:{point}[^{point}]+)*")
            elif "**" in segment:
                raise ValueError("** can only appear as an entire path segment")
            else:
                parts.append(point + f"[^{point}]*".join(map(re.escape, segment.split("*"))))
        return re.compile("".join(parts))
