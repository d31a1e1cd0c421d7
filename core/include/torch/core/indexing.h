// t[...] as users of Python and C++ write it, built on public operators so that it differentiates.
#pragma once
#include <optional>

#include "torch/core/tensor.h"

namespace torch {

struct Index {
  enum class Kind : uint8_t { Integer, Slice, NewAxis, Ellipsis, Bool, Tensor };
  Kind kind = Kind::Ellipsis;
  int64_t integer = 0;                 // Integer; Bool: 0 or 1
  std::optional<int64_t> start, stop;  // Slice
  int64_t step = 1;
  Tensor tensor;  // Tensor: integers, or a mask (bool or uint8)

  static Index at(int64_t i) {
    Index x;
    x.kind = Kind::Integer;
    x.integer = i;
    return x;
  }
  static Index slice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step = 1) {
    Index x;
    x.kind = Kind::Slice;
    x.start = start;
    x.stop = stop;
    x.step = step;
    return x;
  }
  static Index new_axis() {
    Index x;
    x.kind = Kind::NewAxis;
    return x;
  }
  static Index ellipsis() { return Index(); }
  static Index boolean(bool b) {
    Index x;
    x.kind = Kind::Bool;
    x.integer = b;
    return x;
  }
  static Index of(Tensor t) {
    Index x;
    x.kind = Kind::Tensor;
    x.tensor = std::move(t);
    return x;
  }
};

// Integers, slices, None and Ellipsis give a view; an index tensor among them gives a copy.
TORCH_API Tensor get_item(const Tensor& self, ArrayRef<Index> indices);
// Broadcasts `value` into the indexed part. Indices are checked before anything is written.
TORCH_API void set_item(const Tensor& self, ArrayRef<Index> indices, const Tensor& value);
TORCH_API void set_item(const Tensor& self, ArrayRef<Index> indices, const Scalar& value);

}  // namespace torch
