"""Every name of torch that public libraries use in their sources is there: an attribute, or a module to import."""

import importlib
from pathlib import Path

LIST = Path(__file__).parent / "data" / "library-names.txt"


def find(name):
    first, *others = name.split(".")
    found, path = importlib.import_module(first), first
    for part in others:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(path)
    return found


def missing(names):
    errors = {}
    for name in names:
        try:
            find(name)
        except (AttributeError, ImportError, NotImplementedError) as error:
            errors[name] = f"{type(error).__name__}: {error}"
    return errors


def test_names_that_libraries_use_are_there():
    names = [line.split("\t")[0] for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    assert len(names) == 1984 and len(set(names)) == len(names)
    assert missing(names) == {}


def test_a_name_that_is_not_there_is_found_out():
    assert list(missing(["torch.add", "torch.no_such_name", "torch.no_such_module.name"])) == [
        "torch.no_such_name",
        "torch.no_such_module.name",
    ]
