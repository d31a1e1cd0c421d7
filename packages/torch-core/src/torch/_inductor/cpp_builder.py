"""The C++ compiler of this machine."""

import os
import shutil


def get_cpp_compiler():
    """``$CXX``, or g++, clang++ or c++ as they are found; RuntimeError when there is none."""
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if name and shutil.which(name):
            return name
    raise RuntimeError("no C++ compiler on PATH: install g++ or set CXX")
