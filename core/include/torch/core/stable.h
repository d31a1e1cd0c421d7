// Values as extensions for PyTorch's stable ABI give and take them: 64 bits each, which own what they point at.
//
//   Tensor             Tensor*
//   int, bool, float   the number itself, a float as a double
//   str                std::string*
//   Scalar             a double
//   dtype, layout, memory_format   PyTorch's code
//   device             its type's code above, the index in the lower half
//   T?                 null, or a pointer to the bits of a T
//   T[]                List*
//
// The functions in C that pass them are in packages/torch-core/csrc/stable/interface.cpp, a library of its own that
// such extensions find under the names of PyTorch's libraries.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "torch/core/row.h"

namespace torch::stable {

using Bits = uint64_t;
struct List {
  std::vector<Bits> items;
};

TORCH_API int32_t code_of(DType) noexcept;
TORCH_API int32_t code_of(DeviceType) noexcept;
TORCH_API int32_t code_of(Layout) noexcept;
TORCH_API int32_t code_of(MemoryFormat) noexcept;
TORCH_API DType dtype_of_code(int32_t code);  // RuntimeError for one without tensors here
TORCH_API DeviceType device_of_code(int32_t code);
TORCH_API Layout layout_of_code(int32_t code);
TORCH_API MemoryFormat memory_format_of_code(int32_t code);

// An argument as bits, which the callee owns.
TORCH_API Bits bits_of(const Parameter& p, const Value& v);
// The results of a call, which are taken from the bits.
TORCH_API void take_results(const Row& row, Bits* bits, Result& result);

// Runs an operator of torch by the name and overload that PyTorch has for it, with its arguments in the stack, which
// the results take the place of. Set by the Python module; null without it.
extern TORCH_API void (*call_by_name)(const char* name, const char* overload, Bits* stack);

}  // namespace torch::stable
