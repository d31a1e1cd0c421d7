"""Docstrings as reStructuredText: what is meant as a letter is not taken for markup."""

import re


def escaped(text: str) -> str:
    """The text with single asterisks and bars, as in shapes ``(N, *)``, shown as they are; code is left as it is.

    >>> print(escaped("Input (N, *) and |x|, ``a * b``."))
    Input (N, \\*) and \\|x\\|, ``a * b``.
    """

    def line(said: str) -> str:
        if said.lstrip().startswith((">>>", "...", ":", "+", "=")):
            return said
        parts = re.split(r"(``.*?``|`[^`]*`_?)", said)
        return "".join(p if n % 2 else re.sub(r"(?<![\\*])([*|])(?!\*)", r"\\\1", p) for n, p in enumerate(parts))

    return "\n".join(map(line, text.split("\n")))
