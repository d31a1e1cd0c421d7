"""Runs one program of ci/libraries/programs and keeps what its steps return: python steps.py PROGRAM FILE.

A step is a public function of the program that takes no arguments. Steps run in the order in which they are written;
one that fails is noted, and the next one runs.
"""

import importlib.util
import os
import pickle
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version


def main(program: str, file: str) -> None:
    found = {"steps": {}, "distributions": {}, "tolerance": None}
    spec = importlib.util.spec_from_file_location("program", program)
    module = importlib.util.module_from_spec(spec)
    names = steps(program)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        found["steps"] = {name: (False, describe(error)) for name in names}
    else:
        found["tolerance"] = getattr(module, "TOLERANCE", None)
        found["distributions"] = {name: installed(name) for name in module.DISTRIBUTIONS}
        for name in names:
            try:
                found["steps"][name] = True, leaves(getattr(module, name)())
            except Exception as error:
                found["steps"][name] = False, describe(error)
    with open(file + ".part", "wb") as sink:
        pickle.dump(found, sink)
    os.replace(file + ".part", file)


def steps(program: str) -> list[str]:
    """The names of the steps, read from the source: they count even where the import of the library fails."""
    import ast

    with open(program) as source:
        tree = ast.parse(source.read())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f.name for f in functions if not f.name.startswith("_") and not f.decorator_list and not f.args.args]


def installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "?"


def describe(error: BaseException) -> str:
    """The error in one line, with the deepest place that is neither ours nor a program's."""
    if os.environ.get("LIBRARIES_TRACEBACK"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    outside = [f for f in frames if "site-packages" in f.filename or ".cache" in f.filename] or frames
    last = outside[-1]
    text = " ".join(str(error).split()).partition(' File "')[0][:200]  # whoever reads it has other folders
    return f"{type(error).__name__}: {text} ({'/'.join(last.filename.split('/')[-2:])}:{last.lineno})"


def leaves(value) -> list:
    """Numbers, arrays and words of a nested result, in order; arrays are NumPy's, so that any Python reads them."""
    import numpy as np

    if value is None or isinstance(value, (str, bool)):
        return [value]
    if isinstance(value, (int, float, complex, np.generic)):
        return [np.asarray(value)]
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        return [leaf for key in sorted(value, key=str) for leaf in [str(key), *leaves(value[key])]]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    import torch

    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.layout != torch.strided:
            value = value.to_dense()
        return [(value.float() if value.dtype == torch.bfloat16 else value).resolve_conj().numpy().copy()]
    if isinstance(value, torch.nn.Module):
        return leaves(dict(value.state_dict()))
    if isinstance(value, (torch.Size, torch.dtype, torch.device)):
        return [str(value)]
    raise TypeError(f"a step returned {type(value).__name__}")


if __name__ == "__main__":
    main(*sys.argv[1:])
