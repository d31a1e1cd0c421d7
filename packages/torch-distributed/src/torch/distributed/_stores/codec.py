"""Requests and replies as bytes: None, bool, int, float, str, bytes and lists of them, each with its kind and length.

Nothing in them can run code, whoever sent them.
"""

from struct import Struct

LENGTH = Struct("<cI")
DEEPEST = 100  # lists within lists; a request has one


def encode(value) -> bytes:
    """The bytes of a value.

    >>> decode(encode(["set", 3, 0.5, b"x", None, True, [1]]))
    ['set', 3, 0.5, b'x', None, True, [1]]
    """
    if value is None:
        kind, body = b"n", b""
    elif isinstance(value, bool):
        kind, body = b"t", b"1" if value else b"0"
    elif isinstance(value, int):
        kind, body = b"i", b"%d" % value
    elif isinstance(value, float):
        kind, body = b"f", value.hex().encode()
    elif isinstance(value, str):
        kind, body = b"s", value.encode("utf-8", "surrogateescape")
    elif isinstance(value, bytes):
        kind, body = b"b", value
    elif isinstance(value, (list, tuple)):
        kind, body = b"l", b"".join(map(encode, value))
    else:
        raise TypeError(f"Store: cannot send a {type(value).__name__}")
    return LENGTH.pack(kind, len(body)) + body


READERS = {
    b"n": lambda body: None,
    b"t": lambda body: body == b"1",
    b"i": int,
    b"f": lambda body: float.fromhex(body.decode()),
    b"s": lambda body: body.decode("utf-8", "surrogateescape"),
    b"b": bytes,
}


def decode(data: bytes):
    """The value of some bytes; ValueError when they are not of one."""
    value, end = _decode(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the value")
    return value


def _decode(data, at, depth=0):
    if at + LENGTH.size > len(data):
        raise ValueError("the value is cut off")
    kind, length = LENGTH.unpack_from(data, at)
    at += LENGTH.size
    end = at + length
    if end > len(data):
        raise ValueError("the value is cut off")
    if kind != b"l":
        if kind not in READERS:
            raise ValueError(f"there are no values of kind {kind!r}")
        try:
            return READERS[kind](data[at:end]), end
        except OverflowError as error:  # of a float; it is no ValueError
            raise ValueError(str(error)) from None
    if depth == DEEPEST:
        raise ValueError(f"lists lie within one another more than {DEEPEST} deep")
    items = []
    while at < end:
        item, at = _decode(data, at, depth + 1)
        items.append(item)
    return items, end
