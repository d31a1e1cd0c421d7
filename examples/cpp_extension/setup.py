"""Builds cell.cpp as an extension of a distribution, with setuptools."""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="cell",
    version="1.0",
    ext_modules=[CppExtension("cell_cpp", ["cell.cpp"])],
    cmdclass={"build_ext": BuildExtension},
)
