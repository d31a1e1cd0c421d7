// Sizes or strides under construction, on the stack.
#pragma once
#include <algorithm>

#include "torch/core/array_ref.h"
#include "torch/core/tensor.h"

namespace torch {

class DimVector {
 public:
  DimVector() noexcept {}
  DimVector(IntArrayRef v) : size_(int(v.size())) {
    check(v.size());
    for (int i = 0; i < size_; ++i) v_[i] = v[size_t(i)];
  }
  DimVector(size_t n, int64_t value) : size_(int(n)) {
    check(n);
    for (int i = 0; i < size_; ++i) v_[i] = value;
  }
  operator IntArrayRef() const noexcept { return {v_, size_t(size_)}; }
  IntArrayRef ref() const noexcept { return *this; }

  int size() const noexcept { return size_; }
  int64_t* data() noexcept { return v_; }
  const int64_t* data() const noexcept { return v_; }
  int64_t* begin() noexcept { return v_; }
  int64_t* end() noexcept { return v_ + size_; }
  int64_t& operator[](int64_t i) noexcept { return v_[i]; }
  int64_t operator[](int64_t i) const noexcept { return v_[i]; }
  int64_t& back() noexcept { return v_[size_ - 1]; }

  void push_back(int64_t x) {
    check(size_t(size_) + 1);
    v_[size_++] = x;
  }
  void insert(int64_t at, int64_t x) {
    check(size_t(size_) + 1);
    for (int64_t i = size_; i > at; --i) v_[i] = v_[i - 1];
    v_[at] = x;
    ++size_;
  }
  void erase(int64_t at) noexcept {
    --size_;
    for (int64_t i = at; i < size_; ++i) v_[i] = v_[i + 1];
  }

 private:
  static void check(size_t n) {
    TORCH_CHECK(n <= size_t(kMaxDims), "a tensor has at most ", kMaxDims, " dimensions, got ", n);
  }

  int size_ = 0;
  int64_t v_[kMaxDims];
};

// A list of dims as flags; wraps negative ones and rejects repeats.
class DimSet {
 public:
  DimSet(const char* op, IntArrayRef dims, int64_t ndim) {
    for (int64_t d : dims) {
      int64_t w = wrap_dim(d, ndim);
      TORCH_CHECK(!(bits_ >> w & 1), op, ": dim ", w, " appears multiple times in the list of dims ", dims);
      bits_ |= uint64_t(1) << w;
    }
    if (ndim == 0) bits_ = 0;  // dim 0 of a tensor without dims stands for none
  }
  static DimSet all(int64_t ndim) noexcept {
    DimSet s;
    s.bits_ = ndim >= 64 ? ~uint64_t(0) : (uint64_t(1) << ndim) - 1;
    return s;
  }
  bool operator[](int64_t d) const noexcept { return bits_ >> d & 1; }
  bool empty() const noexcept { return bits_ == 0; }
  int count() const noexcept { return __builtin_popcountll(bits_); }

 private:
  DimSet() = default;
  uint64_t bits_ = 0;
};

// `[2, 3]`, as messages about shapes have it.
struct Bracketed {
  IntArrayRef v;
};
inline std::ostream& operator<<(std::ostream& out, Bracketed b) {
  out << '[';
  for (size_t i = 0; i < b.v.size(); ++i) out << (i ? ", " : "") << b.v[i];
  return out << ']';
}

}  // namespace torch
