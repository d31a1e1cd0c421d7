// What is done to an output by the kernel that writes it, while the elements still lie in a near cache. Who has
// element-wise operators behind a product, a convolution or a norm says so before the call; the kernel takes the
// epilogue at its start and hands it every element that has its last value:
//
//   const Epilogue epilogue = take_epilogue(out, elements);
//   ... a block of `out` is done:  epilogue(first, rows, step, count);
//
// A kernel that takes none writes its output as ever. The epilogue may change the elements, and reads no others of it.
#pragma once
#include <cstdint>
#include <type_traits>

#include "torch/core/dtype.h"
#include "torch/core/macros.h"

namespace torch {

struct Epilogue {
  // `rows` runs of `count` elements, `step` apart, the first one at element `first` of the output. From any thread.
  using Rows = void (*)(void* to, void* out, int64_t first, int64_t rows, int64_t step, int64_t count);
  Rows rows = nullptr;
  void* to = nullptr;
  void* out = nullptr;

  explicit operator bool() const noexcept { return rows != nullptr; }
  void operator()(int64_t first, int64_t count, int64_t step, int64_t each) const {
    if (rows) rows(to, out, first, count, step, each);
  }
};

// Of this thread, for the time of a call; made by its first.
struct PendingEpilogue {
  Epilogue epilogue;
  int64_t elements;  // of the output; -1: of any, of any type
  DType dtype;
  int64_t taken;  // how many did; epilogue.out is that of the last
};
extern TORCH_API constinit thread_local PendingEpilogue* pending_epilogue;

TORCH_API Epilogue take_pending_epilogue(void* out, int64_t elements, DType dtype) noexcept;

// By who writes all elements of a dense output, each once or over again; nothing where nobody waits for one.
template <class T>
TORCH_INLINE Epilogue take_epilogue(T* out, int64_t elements) noexcept {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    if (TORCH_UNLIKELY(pending_epilogue != nullptr && pending_epilogue->epilogue.rows != nullptr))
      return take_pending_epilogue(out, elements, sizeof(T) == 4 ? DType::Float32 : DType::Float64);
  return {};
}

}  // namespace torch

// What libtorch_program looks for when it is loaded (program/src/epilogue.h): no header that others see, so that it
// runs with a core that lacks them.
extern "C" {
// For the next kernel of this thread whose output has so many elements of this type (a DType), or, where `elements` is
// -1, for all of them.
TORCH_API void torch_epilogue_begin(torch::Epilogue::Rows rows, void* to, int64_t elements, int dtype) noexcept;
// How many took it, and the output of the last one.
TORCH_API int64_t torch_epilogue_end(const void** out) noexcept;
}
