"""What plain Python types are made of in files, where that is not what the type itself takes."""

from __future__ import annotations

from .._errors import FileFormatError, brief

_ENCODINGS = ("latin1", "latin-1", "utf-8", "ascii")


def encode(text: str, encoding: str = "latin1") -> bytes:
    """``_codecs.encode``: how protocols below 3 write bytes."""
    if encoding not in _ENCODINGS:
        raise FileFormatError(f"_codecs.encode to {brief(encoding)}; bytes are written in {', '.join(_ENCODINGS)}")
    return text.encode(encoding)


def as_bytearray(data: str | bytes = b"", encoding: str = "latin-1") -> bytearray:
    return bytearray(encode(data, encoding) if type(data) is str else data)


def as_text(value: str = "") -> str:
    return value
