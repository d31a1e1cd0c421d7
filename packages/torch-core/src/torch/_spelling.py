"""Did-you-mean for misspelt names of ``torch`` and for keywords that almost fit."""

import sys


def unknown(name: str, known: list[str]) -> AttributeError:
    """The error for a name that ``torch`` does not have, with the known name that was meant."""
    torch = sys.modules["torch"]
    text = f"module 'torch' has no attribute {name!r}"
    if not name.startswith("__"):
        if meant := alike(name, known):
            text += f"; did you mean {meant!r}?"
    return AttributeError(text, name=name, obj=torch)


def alike(name: str, known: list[str]) -> str | None:
    """The known name that one slip of the hand turns into this one. Cheap: libraries probe torch with hasattr.

    >>> alike("zeroes", ["ones", "zeros"]), alike("Eye", ["eye"]), alike("compile", ["eye"])
    ('zeros', 'eye', None)
    """
    # Of Tensor and tensor, the one that begins as the user began.
    known = sorted(known, key=lambda k: k[:1].isupper() == name[:1].isupper())
    plain = {k.strip("_").lower(): k for k in known if not k.startswith("_")}
    word = name.strip("_").lower()
    if word in plain:
        return plain[word]
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
    slips = [a + b[1:] for a, b in cuts if b]
    slips += [a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1]
    slips += [a + c + b[1:] for a, b in cuts if b for c in letters]
    slips += [a + c + b for a, b in cuts for c in letters]
    return next((plain[s] for s in slips if s in plain and len(word) > 2), None)


# What other libraries and papers call the parameters.
SYNONYMS = {
    "axis": "dim", "axes": "dim", "keepdims": "keepdim", "learning_rate": "lr", "epsilon": "eps", "prob": "p",
    "probability": "p", "beta": "betas", "beta1": "betas", "beta2": "betas", "l2": "weight_decay",
    "parameters": "params", "filters": "out_channels", "units": "out_features", "input_dim": "in_features",
    "output_dim": "out_features", "strides": "stride", "use_bias": "bias",
}  # fmt: skip


def hint(name: str, known) -> str:
    """The end of an error about a keyword: which of the known ones was meant, or nothing.

    >>> hint("dimm", ["input", "dim"]), hint("learning_rate", ["params", "lr"]), hint("kernel", ["kernel_size"])
    ("; did you mean 'dim'?", "; did you mean 'lr'?", "; did you mean 'kernel_size'?")
    >>> hint("colour", ["input", "dim"])
    ''
    """
    known = [k for k in known if k != "self"]
    plain = {k.replace("_", "").lower(): k for k in known}
    word = name.replace("_", "").lower()
    meant = SYNONYMS.get(name) if SYNONYMS.get(name) in known else plain.get(word)
    if meant is None and len(word) > 2:
        meant = next((k for p, k in plain.items() if len(p) > 2 and (p.startswith(word) or word.startswith(p))), None)
    if meant is None:
        from difflib import get_close_matches

        close = get_close_matches(word, plain, 1, 0.7) or [
            p for p in plain if len(word) > 1 and sorted(p) == sorted(word)
        ]
        meant = plain[close[0]] if close else None
    return f"; did you mean {meant!r}?" if meant else ""


def remedy(wanted: str, given) -> str:
    """The end of an error about an argument of another type: how to make one of the type that is wanted, or nothing.

    >>> remedy("torch.dtype", "float32"), remedy("Tensor", [1, 2])
    ('; did you mean torch.float32?', '; torch.tensor makes one of it')
    """
    torch = sys.modules["torch"]
    if wanted == "torch.dtype":
        name = given if isinstance(given, str) else getattr(given, "__name__", "") or str(getattr(given, "name", ""))
        name = name.removeprefix("torch.")
        return f"; did you mean torch.{name}?" if isinstance(getattr(torch, name, None), torch.dtype) else ""
    if wanted.startswith("tuple of Tensors"):
        if isinstance(given, torch.Tensor):
            return "; write (tensor,) for one, or unbind() for its rows"
        odd = (
            next((k for k, item in enumerate(given) if not isinstance(item, torch.Tensor)), None)
            if isinstance(given, (tuple, list))
            else None
        )
        return f"; its element {odd} is {type(given[odd]).__name__}" if odd is not None else ""
    if not wanted.startswith("Tensor"):
        return ""
    if type(given).__module__ == "numpy":
        return "; torch.from_numpy makes one of an array"
    if isinstance(given, (tuple, list)):
        if not given or not any(isinstance(item, (torch.Tensor, tuple, list)) for item in given):
            return "; torch.tensor makes one of it"
        return f"; it has {len(given)} elements: take one of them, or join them by torch.stack or torch.cat"
    if callable(getattr(given, "forward", None)):
        return f"; a module is called with its input, {type(given).__name__}(...)(x), and gives one"
    return ""


def check(cls: type, keywords) -> None:
    """Raise the TypeError for a keyword that the ``__init__`` of a class refuses, when another one is near."""
    known: tuple = ()
    for owner in cls.__mro__:
        init = vars(owner).get("__init__")
        if init is None:
            continue
        code = getattr(init, "__code__", None)
        if code is None:  # not of Python
            return
        known += code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if not code.co_flags & 8:
            break
        if not init.__module__.startswith("torch."):  # what a user's **kwargs may hold is not known
            return
    for name in keywords:
        if name not in known and (near := hint(name, known)):
            raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}{near}")
