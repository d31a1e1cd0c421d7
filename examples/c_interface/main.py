"""The C interface from Python through cffi: operators by name without a compiler, and functions of one's own in C.

python main.py --build-directory build
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cffi
import torch
from torch.utils.cpp_extension import library_paths
from torch.utils.ffi import create_extension

HERE = Path(__file__).resolve().parent


def call_by_name() -> None:
    """Any language that can call C can call any operator: here cffi, without compiling anything."""
    ffi = cffi.FFI()
    ffi.cdef("""
        typedef struct torch_tensor torch_tensor;
        typedef struct { int kind; union { torch_tensor *tensor; int64_t integer; double number; } value;
                         union { int64_t size; double imaginary; } more; } torch_value;
        int torch_c_version(void);
        const char *torch_last_error(void);
        const char *torch_schema(const char *op);
        int torch_call(const char *op, const torch_value *arguments, int count, torch_value *results, int capacity);
        int torch_ones(int ndim, const int64_t *sizes, int dtype, torch_tensor **out);
        int64_t torch_numel(const torch_tensor *);
        void *torch_data(const torch_tensor *);
        void torch_release(torch_tensor *);
    """)
    lib = ffi.dlopen(str(Path(library_paths()[0], f"libtorch_core.so.{torch._C.interface}")))
    print(f"C interface {lib.torch_c_version()}:", ffi.string(lib.torch_schema(b"cumsum")).decode())
    ones, result = ffi.new("torch_tensor **"), ffi.new("torch_value *")
    float32, tensor, integer = 11, 1, 4  # of the enumerations in torch.h
    assert lib.torch_ones(1, ffi.new("int64_t[]", [5]), float32, ones) == 0
    arguments = ffi.new("torch_value[2]", [{"kind": tensor}, {"kind": integer}])
    arguments[0].value.tensor, arguments[1].value.integer = ones[0], 0
    assert lib.torch_call(b"cumsum", arguments, 2, result, 1) == 0
    sums = result[0].value.tensor
    print("cumsum of ones:", ffi.unpack(ffi.cast("float *", lib.torch_data(sums)), lib.torch_numel(sums)))
    assert lib.torch_call(b"cumsum", arguments, 1, result, 1) != 0
    print("an error:", ffi.string(lib.torch_last_error()).decode())
    for one in (ones[0], sums):
        lib.torch_release(one)


def functions_in_c(folder: Path) -> None:
    """peaks.c becomes a Python module whose functions take tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("peaks.h", "peaks.c"):
        (folder / name).write_text((HERE / name).read_text())
    create_extension("_ext.peaks", "peaks.h", ["peaks.c"], relative_to=str(folder), verbose=False).build()
    sys.path.insert(0, str(folder))
    from _ext import peaks

    signal = torch.sin(torch.arange(0, 20, 0.1)) + 0.01 * torch.arange(200)
    standard = peaks.standardized(signal)
    print(f"standardized: mean {standard.mean().abs():.3f}, standard deviation {standard.std():.3f}")
    found = torch.empty(200, dtype=torch.uint8)
    peaks.find_peaks(standard, found, 0.0)
    print("peaks at", found.nonzero().flatten().tolist())
    try:
        peaks.find_peaks(standard.double(), found, 0.0)
    except ValueError as error:
        print("refused:", error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-directory", type=Path, default=HERE / "build")
    options = parser.parse_args()
    call_by_name()
    functions_in_c(options.build_directory)


if __name__ == "__main__":
    main()
