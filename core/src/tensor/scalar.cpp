#include "torch/core/scalar.h"

#include <atomic>

namespace torch {

namespace {
std::atomic<DType> g_default_dtype{DType::Float32};
}

DType default_dtype() noexcept { return g_default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(DType t) {
  TORCH_CHECK_TYPE(is_floating(t) && !is_stored(t),
                   "set_default_dtype: the default must be a floating point dtype, got ", t);
  g_default_dtype.store(t, std::memory_order_relaxed);
}

std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return out << (s.to_bool() ? "True" : "False");
    case Scalar::Kind::Int:
      return out << s.to_int();
    case Scalar::Kind::UInt:
      return out << uint64_t(s.to_int());
    case Scalar::Kind::Float:
      return out << s.to_double();
    case Scalar::Kind::Complex:
      return out << '(' << s.to_complex().real() << '+' << s.to_complex().imag() << "j)";
  }
  __builtin_unreachable();
}

}  // namespace torch
