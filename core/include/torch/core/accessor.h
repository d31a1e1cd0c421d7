// The elements of a tensor on the CPU with static type and rank, for loops of one's own:
//
//   auto a = torch::accessor<float, 2>(x);      // RuntimeError unless x is a float32 matrix on the CPU
//   for (int64_t i = 0; i < a.size(0); ++i) a[i][i] += 1;
//
// It borrows from the tensor, which must outlive it. Who writes through it to a tensor that others may have seen calls
// torch::mark_changed(x, "name") afterwards, so that autograd knows.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

template <class T, int N>
class Accessor {
 public:
  Accessor(T* data, const int64_t* sizes, const int64_t* strides) noexcept
      : data_(data), sizes_(sizes), strides_(strides) {}
  int64_t size(int dim) const noexcept { return sizes_[dim]; }
  int64_t stride(int dim) const noexcept { return strides_[dim]; }
  T* data() const noexcept { return data_; }
  decltype(auto) operator[](int64_t i) const noexcept {
    if constexpr (N == 1)
      return data_[i * strides_[0]];
    else
      return Accessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  const int64_t *sizes_, *strides_;
};

template <class T, int N>
Accessor<T, N> accessor(const Tensor& t) {
  static_assert(N > 0, "a 0-d tensor has one element: *t.data<T>()");
  TORCH_CHECK(t.defined(), "accessor: the tensor is undefined");
  TORCH_CHECK(t.device().type == DeviceType::CPU, "accessor: expected a tensor on the CPU, got one on ", t.device());
  TORCH_CHECK(t.dtype() == dtype_of<std::remove_const_t<T>>, "accessor: expected elements of ",
              dtype_of<std::remove_const_t<T>>, ", got ", t);
  TORCH_CHECK(t.dim() == N, "accessor: expected ", N, " dims, got ", t);
  return {t.data<T>(), t->sizes(), t->strides()};
}

}  // namespace torch
