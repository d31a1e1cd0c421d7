// A short list of numbers that a derivative keeps: sizes, dims, strides. No allocation up to six.
#pragma once
#include <algorithm>

#include "torch/core/array_ref.h"

namespace torch::autograd {

class Dims {
 public:
  Dims() noexcept {}
  Dims(IntArrayRef v) : size_(v.size()) {
    if (size_ > kInline) heap_ = new int64_t[size_];
    std::copy(v.begin(), v.end(), begin());
  }
  Dims(const std::vector<int64_t>& v) : Dims(IntArrayRef(v)) {}
  Dims(const Dims& o) : Dims(IntArrayRef(o)) {}
  Dims& operator=(const Dims&) = delete;
  ~Dims() {
    if (size_ > kInline) delete[] heap_;
  }
  size_t size() const noexcept { return size_; }
  int64_t* begin() noexcept { return size_ > kInline ? heap_ : inline_; }
  const int64_t* begin() const noexcept { return size_ > kInline ? heap_ : inline_; }
  const int64_t* end() const noexcept { return begin() + size_; }
  int64_t operator[](size_t i) const noexcept { return begin()[i]; }
  operator IntArrayRef() const noexcept { return {begin(), size_}; }

 private:
  static constexpr size_t kInline = 6;
  size_t size_ = 0;
  union {
    int64_t inline_[kInline];
    int64_t* heap_;
  };
};

}  // namespace torch::autograd
