// The element types. Order matters: promotion within a category goes to the later one (promote.h).
#pragma once
#include <complex>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "torch/core/error.h"
#include "torch/core/half.h"
#include "torch/core/macros.h"

namespace torch {

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

// X(enumerator, C++ type, Python name, legacy class prefix)
#define TORCH_FOR_EACH_DTYPE(X)                        \
  X(Bool, bool, "bool", "Bool")                        \
  X(UInt8, uint8_t, "uint8", "Byte")                   \
  X(Int8, int8_t, "int8", "Char")                      \
  X(Int16, int16_t, "int16", "Short")                  \
  X(Int32, int32_t, "int32", "Int")                    \
  X(Int64, int64_t, "int64", "Long")                   \
  X(UInt16, uint16_t, "uint16", "UInt16")              \
  X(UInt32, uint32_t, "uint32", "UInt32")              \
  X(UInt64, uint64_t, "uint64", "UInt64")              \
  X(Float16, Half, "float16", "Half")                  \
  X(BFloat16, BFloat16, "bfloat16", "BFloat16")        \
  X(Float32, float, "float32", "Float")                \
  X(Float64, double, "float64", "Double")              \
  X(Complex64, Complex64, "complex64", "ComplexFloat") \
  X(Complex128, Complex128, "complex128", "ComplexDouble")

// Dtypes that tensors are stored in and converted from: no kernel computes in them.
// X(enumerator, bytes, Python name, legacy class prefix)
#define TORCH_FOR_EACH_STORED_DTYPE(X)                       \
  X(Complex32, 4, "complex32", "ComplexHalf")                \
  X(Float8E4M3FN, 1, "float8_e4m3fn", "Float8_e4m3fn")       \
  X(Float8E5M2, 1, "float8_e5m2", "Float8_e5m2")             \
  X(Float8E4M3FNUZ, 1, "float8_e4m3fnuz", "Float8_e4m3fnuz") \
  X(Float8E5M2FNUZ, 1, "float8_e5m2fnuz", "Float8_e5m2fnuz") \
  X(Float8E8M0FNU, 1, "float8_e8m0fnu", "Float8_e8m0fnu")

enum class DType : uint8_t {
#define X(name, type, python, legacy) name,
  TORCH_FOR_EACH_DTYPE(X) TORCH_FOR_EACH_STORED_DTYPE(X)
#undef X
};
#define X(name, type, python, legacy) +1
constexpr int kDTypes = TORCH_FOR_EACH_DTYPE(X);  // those that kernels know
constexpr int kAllDTypes = kDTypes TORCH_FOR_EACH_STORED_DTYPE(X);
#undef X

template <class T>
struct DTypeOf;
#define X(name, type, python, legacy)           \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  };
TORCH_FOR_EACH_DTYPE(X)
#undef X
template <class T>
constexpr DType dtype_of = DTypeOf<T>::value;

namespace detail {
#define X(name, type, python, legacy) sizeof(type),
#define Y(name, bytes, python, legacy) bytes,
inline constexpr uint8_t kItemSize[] = {TORCH_FOR_EACH_DTYPE(X) TORCH_FOR_EACH_STORED_DTYPE(Y)};
#undef X
#undef Y
#define X(name, type, python, legacy) python,
inline constexpr const char* kDTypeName[] = {TORCH_FOR_EACH_DTYPE(X) TORCH_FOR_EACH_STORED_DTYPE(X)};
#undef X
#define X(name, type, python, legacy) legacy,
inline constexpr const char* kLegacyName[] = {TORCH_FOR_EACH_DTYPE(X) TORCH_FOR_EACH_STORED_DTYPE(X)};
#undef X
}  // namespace detail

constexpr int64_t item_size(DType t) noexcept { return detail::kItemSize[int(t)]; }
constexpr const char* name(DType t) noexcept { return detail::kDTypeName[int(t)]; }          // "float32"
constexpr const char* legacy_name(DType t) noexcept { return detail::kLegacyName[int(t)]; }  // "Float"
constexpr bool is_complex(DType t) noexcept { return t >= DType::Complex64 && t <= DType::Complex32; }
constexpr bool is_floating(DType t) noexcept {
  return (t >= DType::Float16 && t <= DType::Float64) || t > DType::Complex32;
}
constexpr bool is_integral(DType t) noexcept { return t > DType::Bool && t <= DType::UInt64; }  // bool is none
constexpr bool is_signed(DType t) noexcept {
  return !(t == DType::Bool || t == DType::UInt8 || (t >= DType::UInt16 && t <= DType::UInt64) ||
           t == DType::Float8E8M0FNU);
}
// Tensors carry the key DispatchKey::Stored, which stops every operator that does not know them.
constexpr bool is_stored(DType t) noexcept { return int(t) >= kDTypes; }
// What a stored dtype is converted to without loss.
constexpr DType wide_of(DType t) noexcept { return t == DType::Complex32 ? DType::Complex64 : DType::Float32; }
constexpr bool is_reduced_floating(DType t) noexcept { return t == DType::Float16 || t == DType::BFloat16; }
constexpr DType real_of(DType t) noexcept {
  return t == DType::Complex64    ? DType::Float32
         : t == DType::Complex128 ? DType::Float64
         : t == DType::Complex32  ? DType::Float16
                                  : t;
}
constexpr DType complex_of(DType t) noexcept {
  return is_complex(t) ? t : t == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

// Messages name a dtype as users write it: torch.float32.
inline std::ostream& operator<<(std::ostream& out, DType t) { return out << "torch." << name(t); }

TORCH_API DType default_dtype() noexcept;
TORCH_API void set_default_dtype(DType);  // a floating dtype, else ErrorKind::Type

[[noreturn]] TORCH_API void no_arithmetic(DType t);  // NotImplementedError names the dtype

// f(T{}) with the C++ type of a dtype.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
#define X(name, type, python, legacy) \
  case DType::name:                   \
    return f(type{});
    TORCH_FOR_EACH_DTYPE(X)
#undef X
    default:  // DispatchKey::Stored has the calls with other dtypes
      no_arithmetic(t);
  }
}

}  // namespace torch
