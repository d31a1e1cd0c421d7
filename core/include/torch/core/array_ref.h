// A view of consecutive values owned elsewhere: what shapes, strides and lists of tensors are passed as.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <vector>

namespace torch {

template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() noexcept = default;
  constexpr ArrayRef(const T* data, size_t size) noexcept : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& v) noexcept : data_(v.data()), size_(v.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // the list outlives the call that the view is passed to
#endif
  constexpr ArrayRef(std::initializer_list<T> v) noexcept : data_(v.begin()), size_(v.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  template <size_t N>
  constexpr ArrayRef(const T (&v)[N]) noexcept : data_(v), size_(N) {}

  constexpr const T* data() const noexcept { return data_; }
  constexpr size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T* begin() const noexcept { return data_; }
  constexpr const T* end() const noexcept { return data_ + size_; }
  constexpr const T& operator[](size_t i) const noexcept {
    assert(i < size_);
    return data_[i];
  }
  const T& back() const noexcept { return data_[size_ - 1]; }
  ArrayRef slice(size_t from, size_t count) const noexcept { return {data_ + from, count}; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

  friend bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

using IntArrayRef = ArrayRef<int64_t>;

// Prints as Python prints a tuple: (3, 4), (3,), ().
inline std::ostream& operator<<(std::ostream& out, IntArrayRef v) {
  out << '(';
  for (size_t i = 0; i < v.size(); ++i) out << (i ? ", " : "") << v[i];
  return out << (v.size() == 1 ? ",)" : ")");
}

}  // namespace torch
