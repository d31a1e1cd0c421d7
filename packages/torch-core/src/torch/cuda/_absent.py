"""What the face of CUDA is made of where the plug-in is not installed, finds no device or has nothing: one reason, and names
that give it when used."""

from importlib.util import find_spec

from .. import _install

if find_spec("torch._cuda") is not None:
    from torch import _cuda as plugin

    REASON = plugin.reason()
else:
    plugin = None
    REASON = (
        f"CUDA needs the distribution 'torch-core-cuda', which is not installed: {_install.command('torch-core-cuda')}"
    )


class Unavailable(RuntimeError, AssertionError):
    """There is no CUDA device. Programs catch either of the two classes for it."""


def function(name: str):
    """A function that needs a device, and says so when called."""

    def needs_device(*args, **kwargs):
        raise Unavailable(f"torch.cuda.{name}: {REASON}")

    needs_device.__name__ = needs_device.__qualname__ = name.rpartition(".")[2]
    needs_device.__doc__ = (
        f"Raises RuntimeError: it needs a device.\n\n"
        f">>> if torch.cuda.is_available():\n...     torch.cuda.{name}{'' if '.' in name and name[0].isupper() else '()'}\n"
    )
    return needs_device


def need_device(name: str) -> None:
    """RuntimeError with the reason where there is no device."""
    if plugin is None or not plugin.is_available():
        raise Unavailable(f"{name}: {REASON}")


def functions(module: dict, *names: str) -> None:
    """Put functions that need a device into a module of ``torch.cuda``."""
    prefix = module["__name__"].removeprefix("torch.cuda").lstrip(".")
    for name in names:
        module[name] = function(f"{prefix}.{name}" if prefix else name)
        module[name].__module__ = module["__name__"]


def kind(name: str, methods=(), module="torch.cuda", **constants):
    """A class whose objects need a device: it can be named, asked for and subclassed, but not made."""
    path = f"{module}.{name.rpartition('.')[2]}"
    doc = f"Needs a device to be made.\n\n>>> isinstance(torch.ones(1), {path})\nFalse\n"
    members = {"__init__": function(name), "__module__": "torch.cuda", "__doc__": doc}
    members |= {method: function(f"{name}.{method}") for method in methods}
    return type(name, (), members | constants)
