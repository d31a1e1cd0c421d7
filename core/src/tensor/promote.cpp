#include "torch/core/promote.h"

#include <algorithm>

namespace torch {

namespace {

enum Category { kBool, kIntegral, kFloating, kComplex };
constexpr Category category(DType t) {
  return t == DType::Bool ? kBool : is_integral(t) ? kIntegral : is_floating(t) ? kFloating : kComplex;
}

DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return item_size(a) >= item_size(b) ? a : b;
  DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  if (item_size(with_sign) > item_size(without)) return with_sign;
  switch (item_size(without)) {
    case 1:
      return DType::Int16;
    case 2:
      return DType::Int32;
    case 4:
      return DType::Int64;
  }
  throw_error(ErrorKind::Runtime, message("promote_types: no integer dtype holds both ", a, " and ", b,
                                          "; convert one of the tensors with .to() first"));
}

DType promote_floats(DType a, DType b) {
  if (is_reduced_floating(a) && is_reduced_floating(b)) return a == b ? a : DType::Float32;
  return std::max(a, b);
}

DType promote_stored(DType a, DType b) {
  if (is_stored(a)) std::swap(a, b);
  TORCH_CHECK(b == DType::Complex32 && !is_stored(a),
              "Promotion for Float8 Types is not supported, attempted to promote ", a, " and ", b);
  if (a == DType::Float64 || a == DType::Complex128) return DType::Complex128;
  return a == DType::Float32 || a == DType::BFloat16 || a == DType::Complex64 ? DType::Complex64 : b;
}

// The three ranks of operand, strongest first.
struct Ranks {
  std::optional<DType> dimensioned, zero_dim, number;

  void add(const Tensor& t) {
    if (!t) return;
    DType d = t.dtype();
    auto& slot = t.is_wrapped_number() ? number : t.dim() == 0 ? zero_dim : dimensioned;
    // A Python float means "some float": it takes the default dtype, however it was stored.
    if (t.is_wrapped_number() && is_floating(d)) d = default_dtype();
    if (t.is_wrapped_number() && is_complex(d)) d = complex_of(default_dtype());
    slot = slot ? promote_types(*slot, d) : d;
  }
  DType result() const {
    DType d = stronger(dimensioned, zero_dim);
    return stronger(dimensioned || zero_dim ? std::optional(d) : std::nullopt, number);
  }

 private:
  static DType stronger(std::optional<DType> high, std::optional<DType> low) {
    if (!high) return low.value_or(DType::Float32);
    if (!low || category(*low) <= category(*high)) return *high;
    // A complex number over real floats keeps their precision: float64 with 1j is complex128, float16 complex32.
    if (category(*low) == kComplex && category(*high) == kFloating)
      return *high == DType::Float16 ? DType::Complex32 : promote_types(*high, DType::Complex64);
    return *low;
  }
};

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (TORCH_UNLIKELY(is_stored(a) || is_stored(b))) return promote_stored(a, b);
  Category x = category(a), y = category(b);
  if (x == y) {
    if (x == kIntegral) return promote_integers(a, b);
    return x == kFloating ? promote_floats(a, b) : std::max(a, b);
  }
  DType high = x > y ? a : b, low = x > y ? b : a;
  if (high == DType::Complex64 && low == DType::Float64) return DType::Complex128;
  return high;
}

DType result_type(TensorList tensors) {
  Ranks ranks;
  for (const Tensor& t : tensors) ranks.add(t);
  return ranks.result();
}

DType result_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() && !a.is_wrapped_number() && !b.is_wrapped_number()) return a.dtype();
  Ranks ranks;
  ranks.add(a);
  ranks.add(b);
  return ranks.result();
}

bool can_cast(DType from, DType to) noexcept { return category(from) <= category(to); }

}  // namespace torch
