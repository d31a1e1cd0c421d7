// Sizes and strides of views, computed apart from making the view, so that in-place forms share them.
#pragma once
#include "iterate/dims.h"
#include "torch/core/operator.h"

namespace torch {

struct Geometry {
  DimVector sizes, strides;
  int64_t offset = 0;  // in elements, from the storage's start
};

inline Tensor view_of(const Tensor& self, const Geometry& g) { return view_of(self, g.sizes, g.strides, g.offset); }

// Gives `self` itself another geometry: what in-place views do.
Tensor restride(const Tensor& self, const Geometry& g);

// Replaces one -1 and checks that the number of elements stays; `shape` as users wrote it.
DimVector infer_size(IntArrayRef shape, int64_t numel);

// Strides under which `shape` (of as many elements) lies over the same memory; false when there are none.
bool view_strides(const Tensor& self, IntArrayRef shape, DimVector* strides);

// start and end clamped as Python clamps a slice; the number of elements between.
struct Range {
  int64_t start, count;
};
Range clamp_slice(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);

Geometry squeezed(const Tensor& self, std::optional<IntArrayRef> dims);
Geometry unsqueezed(const Tensor& self, int64_t dim);
Geometry transposed(const Tensor& self, int64_t dim0, int64_t dim1);
// Checks that (size, stride, offset) stays inside self's storage.
Geometry strided(const char* op, const Tensor& self, IntArrayRef size, IntArrayRef stride,
                 std::optional<int64_t> offset);

void register_view_shape();
void register_view_order();
void register_view_slicing();
void register_view_split();
void register_view_memory();
void register_view_scatter();

}  // namespace torch
