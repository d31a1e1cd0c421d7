// Checks of the arguments of a function, under the names of PyTorch's header.
#pragma once
#include "torch/aten.h"

namespace at {

using CheckedFrom = const char*;
// A tensor, and what it is called and where it stands.
struct TensorArg {
  const Tensor& tensor;
  const char* name;
  int position;
  const Tensor& operator*() const { return tensor; }
  const Tensor* operator->() const { return &tensor; }
};

inline void checkDim(CheckedFrom from, const TensorArg& t, int64_t dim) {
  TORCH_CHECK(t->dim() == dim, from, ": argument ", t.position, " ", t.name, " must have ", dim, " dims, got ", *t);
}
inline void checkSameDim(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->dim() == b->dim(), from, ": ", a.name, " ", *a, " and ", b.name, " ", *b, " must have as many dims");
}
inline void checkSameSize(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->sizes() == b->sizes(), from, ": ", a.name, " ", *a, " and ", b.name, " ", *b, " must have one shape");
}
inline void checkSameType(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->dtype() == b->dtype(), from, ": ", a.name, " ", *a, " and ", b.name, " ", *b, " must have one dtype");
}
inline void checkContiguous(CheckedFrom from, const TensorArg& t) {
  TORCH_CHECK(t->is_contiguous(), from, ": argument ", t.position, " ", t.name, " must be contiguous");
}
inline void checkAllSameType(CheckedFrom from, std::initializer_list<TensorArg> all) {
  for (const TensorArg& t : all) checkSameType(from, *all.begin(), t);
}
inline void checkAllSameGPU(CheckedFrom from, std::initializer_list<TensorArg> all) {
  for (const TensorArg& t : all)
    TORCH_CHECK(t->device() == (*all.begin())->device(), from, ": ", all.begin()->name, " is on ",
                (*all.begin())->device(), " and ", t.name, " on ", t->device(), "; move one of them");
}

}  // namespace at
