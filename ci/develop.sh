#!/usr/bin/env bash
# Builds all native code of the tree and installs it in place, below packages/*/src, as an editable install would; with
# TORCH_BUILD_DIR=$PWD/build that one leaves its build here, and nothing is compiled a second time.
# Configures once; afterwards a touched file costs its own compilation. Arguments are ninja targets of torch-core;
# TORCH_CMAKE_ARGS (-DTORCH_WERROR=ON, as CI has it) are those of cmake, as in a build of wheels.
#   PYTHON=python3 BUILD_DIR=build JOBS=2 ci/develop.sh [target...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$(command -v "${PYTHON:-python3}")
build=${BUILD_DIR:-build}
jobs=${JOBS:-2}
ninja=$(command -v ninja) || { echo "ninja is not on PATH: pip install ninja" >&2; exit 1; }
launcher=$(command -v ccache || true)

# part SOURCE BUILD DESTINATION [cmake arguments and, after --, targets]
part() {
  local source=$1 dir=$2 into=$3
  shift 3
  local args=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do args+=("$1"); shift; done
  [ "${1:-}" = -- ] && shift
  args+=(-DCMAKE_MAKE_PROGRAM="$ninja" -DPython_EXECUTABLE="$python" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
    ${TORCH_CMAKE_ARGS:-})
  # Configure again only when the arguments differ: CONFIGURE_DEPENDS covers new and removed files.
  if [ ! -f "$dir/build.ninja" ] || [ "$(cat "$dir/arguments.txt" 2>/dev/null)" != "${args[*]}" ]; then
    local first=()  # a tree that is there keeps its launcher: with another, all would be compiled anew
    [ -f "$dir/CMakeCache.txt" ] || first=(${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher})
    cmake -G Ninja -S "$source" -B "$dir" "${args[@]}" "${first[@]}"
    echo "${args[*]}" >"$dir/arguments.txt"
  fi
  cmake --build "$dir" --parallel "$jobs" ${1:+--target "$@"}
  [ $# -gt 0 ] || cmake --install "$dir" --prefix "$into" | grep -v -e "Up-to-date" -e "Install configuration" || true
}

torch=$PWD/packages/torch-core/src/torch
part packages/torch-core "$build/torch-core" "$torch" -DTORCH_BUILD_TESTS=ON -- "$@"
if [ $# -eq 0 ] && ls packages/torch-autograd/csrc/*.cpp >/dev/null 2>&1; then
  part packages/torch-autograd "$build/torch-autograd" "$PWD/packages/torch-autograd/src/torch/autograd" \
    -DTorchCore_DIR="$torch/cmake/TorchCore"
fi
if [ $# -eq 0 ]; then
  part packages/torch-jit "$build/torch-jit" "$PWD/packages/torch-jit/src/torch/jit" -DTorchCore_DIR="$torch/cmake/TorchCore"
  part packages/torch-multiprocessing "$build/torch-multiprocessing" "$PWD/packages/torch-multiprocessing/src/torch/multiprocessing"
fi
