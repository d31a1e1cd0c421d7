// Routines of LAPACK and BLAS for the four types, found in OpenBLAS (blas/blas.h) when first called.
//
//   getrf.call<T>(op, m, n, a, lda, pivots, &info)      sgetrf_, dgetrf_, cgetrf_ or zgetrf_
//
// Numbers and characters are passed by address, as Fortran takes them, with the lengths of the characters at the end;
// pointers go as they are. `op` is named when the library is not there.
#pragma once
#include <atomic>
#include <complex>
#include <string>
#include <type_traits>
#include <utility>

#include "blas/blas.h"

namespace torch::lapack {

template <class T>
struct Real {
  using type = T;
};
template <class T>
struct Real<std::complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename Real<T>::type;
template <class T>
constexpr bool is_complex_v = !std::is_same_v<T, real_t<T>>;

class Routine {
 public:
  // `complex_name` where routines of complex matrices are called otherwise: orgqr, ungqr.
  constexpr explicit Routine(const char* name, const char* complex_name = nullptr)
      : name_(name), complex_name_(complex_name ? complex_name : name) {}

  template <class T, class... Args>
  void call(const char* op, Args... args) {
    invoke(find<T>(op), args...);
  }

 private:
  template <class T>
  static constexpr int kType = (std::is_same_v<real_t<T>, double> ? 1 : 0) + (is_complex_v<T> ? 2 : 0);

  template <class T>
  void* find(const char* op) {
    std::atomic<void*>& slot = found_[kType<T>];
    void* f = slot.load(std::memory_order_relaxed);
    if (TORCH_UNLIKELY(!f)) {
      f = require_blas_symbol(
          op, (std::string(1, "sdcz"[kType<T>]) + (kType<T> > 1 ? complex_name_ : name_) + '_').c_str());
      slot.store(f, std::memory_order_relaxed);
    }
    return f;
  }

  template <class A>
  static auto address(A& a) {
    if constexpr (std::is_pointer_v<A>)
      return a;
    else
      return static_cast<const A*>(&a);
  }
  template <class... Args>
  static void invoke(void* f, Args... args) {
    constexpr size_t characters = (0 + ... + std::is_same_v<Args, char>);
    with_lengths(f, std::make_index_sequence<characters>{}, address(args)...);
  }
  template <size_t... I, class... Args>
  static void with_lengths(void* f, std::index_sequence<I...>, Args... args) {
    reinterpret_cast<void (*)(Args..., decltype(I)...)>(f)(args..., (I * 0 + 1)...);
  }

  const char *name_, *complex_name_;
  std::atomic<void*> found_[4] = {};
};

}  // namespace torch::lapack
