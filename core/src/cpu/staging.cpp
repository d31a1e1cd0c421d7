// Moving and converting elements for the iteration engine (staging.h).
#include "iterate/staging.h"

#include <algorithm>

#include "kernels/loop.h"
#include "storage/move_row.h"

namespace torch::TORCH_ISA {

namespace {

struct Pair {
  uint64_t low, high;
};
template <class T>
TORCH_VEC_INLINE T read(const char* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// --- strided memory ---

template <class T>
void gather(char* dst, const char* src, int64_t n0, int64_t s0, int64_t n1, int64_t s1) {
  constexpr int64_t size = sizeof(T);
  for (int64_t j = 0; j < n1; ++j, src += s1, dst += n0 * size) {
    T* out = reinterpret_cast<T*>(dst);
    if (s0 == size) {
      if (n0 >= 32) {
        move_row(dst, src, size_t(n0 * size));
      } else {
        for (int64_t i = 0; i < n0; ++i) out[i] = read<T>(src + i * size);
      }
    } else if (s0 == 2 * size) {  // one half of interleaved values: real parts, every other column
      TORCH_INDEPENDENT
      for (int64_t i = 0; i < n0; ++i) out[i] = reinterpret_cast<const T*>(src)[2 * i];
    } else if (s0 == -size) {
      const T* in = reinterpret_cast<const T*>(src) - (n0 - 1);
      TORCH_INDEPENDENT
      for (int64_t i = 0; i < n0; ++i) out[i] = in[n0 - 1 - i];
    } else if (s0 == 0) {
      const T value = read<T>(src);
      for (int64_t i = 0; i < n0; ++i) out[i] = value;
    } else {
      const char* p = src;
      for (int64_t i = 0; i < n0; ++i, p += s0) out[i] = read<T>(p);
    }
  }
}

template <class T>
void scatter(char* dst, int64_t n0, int64_t s0, int64_t n1, int64_t s1, const char* src) {
  constexpr int64_t size = sizeof(T);
  for (int64_t j = 0; j < n1; ++j, dst += s1, src += n0 * size) {
    if (s0 == size) {
      std::memcpy(dst, src, size_t(n0 * size));
    } else {
      char* p = dst;
      for (int64_t i = 0; i < n0; ++i, p += s0) std::memcpy(p, src + i * size, size);
    }
  }
}

template <class T>
void fill(char* dst, const char* value, int64_t n) {
  const T x = read<T>(value);
  T* out = reinterpret_cast<T*>(dst);
  for (int64_t i = 0; i < n; ++i) out[i] = x;
}

// --- transpose ---

// A square tile of N registers of N lanes, 16 bytes each: wider ones lose to the cost of shuffles across their parts
// (1000 x 1000 floats: 350 us, against 455 with 64 bytes). Each pass interleaves register i with register i + N/2;
// after log2(N) passes rows have become columns.
template <class T, int N>
struct Tile {
  typedef T Raw __attribute__((vector_size(sizeof(T) * N)));
};
#define TORCH_TILE(T, N)                                       \
  template <>                                                  \
  struct Tile<T, N> {                                          \
    typedef T Raw __attribute__((vector_size(sizeof(T) * N))); \
  };
TORCH_TILE(uint8_t, 16)
TORCH_TILE(uint16_t, 8)
TORCH_TILE(uint32_t, 4)
TORCH_TILE(uint64_t, 2)
#undef TORCH_TILE

template <class T, int N, int... I>
TORCH_VEC_INLINE void interleave(const typename Tile<T, N>::Raw* in, typename Tile<T, N>::Raw* out,
                                 std::integer_sequence<int, I...>) {
  for (int i = 0; i < N / 2; ++i) {
    out[2 * i] = __builtin_shufflevector(in[i], in[i + N / 2], (I / 2 + I % 2 * N)...);
    out[2 * i + 1] = __builtin_shufflevector(in[i], in[i + N / 2], (N / 2 + I / 2 + I % 2 * N)...);
  }
}
template <class T, int N>
TORCH_VEC_INLINE void transpose_tile(char* dst, int64_t dst_stride, const char* src, int64_t src_stride) {
  using Raw = typename Tile<T, N>::Raw;
  Raw a[N], b[N];
  for (int i = 0; i < N; ++i) std::memcpy(&a[i], src + i * src_stride, sizeof(Raw));
  Raw *from = a, *to = b;
  for (int pass = 1; pass < N; pass *= 2) {
    interleave<T, N>(from, to, std::make_integer_sequence<int, N>{});
    std::swap(from, to);
  }
  for (int i = 0; i < N; ++i) std::memcpy(dst + i * dst_stride, &from[i], sizeof(Raw));
}

// What is left of rows or columns is done once more with some of those before it.
template <class T, int N>
void transpose(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t rows, int64_t columns) {
  constexpr int64_t size = sizeof(T);
  if constexpr (N > 1) {
    if (rows >= N && columns >= N) {
      for (int64_t c = 0; c < columns; c += N) {
        const int64_t k = std::min(c, columns - N);
        for (int64_t i = 0; i < rows; i += N) {
          const int64_t r = std::min(i, rows - N);
          transpose_tile<T, N>(dst + r * dst_stride + k * size, dst_stride, src + k * src_stride + r * size,
                               src_stride);
        }
      }
      return;
    }
  }
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(dst + r * dst_stride + c * size, src + c * src_stride + r * size, size);
}

// --- conversions ---

// As C++ converts, except that float to a small integer goes through int32 and to an unsigned one through int64, so
// that negative numbers wrap as they do for integers; NaN is true.
template <class To, class From>
TORCH_VEC_INLINE To convert_one(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>)
    return x < From(9223372036854775808.0) ? uint64_t(int64_t(x))
                                           : uint64_t(int64_t(x - From(9223372036854775808.0))) ^ (uint64_t(1) << 63);
  else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint32_t>)
    return To(int64_t(x));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4)
    return To(int32_t(x));
  else
    return To(x);
}
template <class To, class From>
void convert(char* const* data, int64_t n, const void*) {
  using Byte = std::conditional_t<std::is_same_v<To, bool>, uint8_t, To>;
  Byte* out = reinterpret_cast<Byte*>(data[0]);
  const auto* in = reinterpret_cast<const Element<From>*>(data[1]);
  using Value = std::conditional_t<std::is_same_v<From, bool>, int32_t, From>;  // what compilers make vectors of
  TORCH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = Byte(convert_one<To, Value>(Value(in[i])));
}

void half_to_float(char* const* data, int64_t n, const void*) {
  float* out = reinterpret_cast<float*>(data[0]);
  const uint16_t* in = reinterpret_cast<const uint16_t*>(data[1]);
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
#endif
  // Shift the ten bits of fraction and five of exponent into a float's place; a product corrects the exponent's bias,
  // and turns subnormals into normal floats on the way.
  for (; i < n; ++i) {
    const uint32_t magnitude = uint32_t(in[i] & 0x7fff) << 13;
    const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;
    const uint32_t bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : __builtin_bit_cast(uint32_t, scaled);
    out[i] = __builtin_bit_cast(float, bits | uint32_t(in[i] & 0x8000) << 16);
  }
}

void float_to_half(char* const* data, int64_t n, const void*) {
  uint16_t* out = reinterpret_cast<uint16_t*>(data[0]);
  const float* in = reinterpret_cast<const float*>(data[1]);
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, in[i]), x = bits & 0x7fffffffu;
    const uint32_t normal = (x + 0xc8000fffu + (x >> 13 & 1)) >> 13;  // rebias by -112, round to nearest even
    const float aligned = __builtin_bit_cast(float, x) + 0.5f;        // puts a subnormal half's last bit at a float's
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, aligned) - 0x3f000000u;
    // F16C keeps the upper bits of a NaN's payload and makes it quiet.
    const uint32_t special = x > 0x7f800000u ? 0x7e00u | (x >> 13 & 0x3ffu) : 0x7c00u;
    out[i] = uint16_t((bits >> 16 & 0x8000u) | (x < 0x38800000u ? subnormal : x >= 0x477ff000u ? special : normal));
  }
}

void bfloat_to_float(char* const* data, int64_t n, const void*) {
  uint32_t* out = reinterpret_cast<uint32_t*>(data[0]);
  const uint16_t* in = reinterpret_cast<const uint16_t*>(data[1]);
  TORCH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = uint32_t(in[i]) << 16;
}
void float_to_bfloat(char* const* data, int64_t n, const void*) {
  uint16_t* out = reinterpret_cast<uint16_t*>(data[0]);
  const uint32_t* in = reinterpret_cast<const uint32_t*>(data[1]);
  TORCH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t x = in[i];
    const uint32_t rounded = (x + 0x7fffu + (x >> 16 & 1)) >> 16;
    out[i] = uint16_t((x & 0x7fffffffu) > 0x7f800000u ? x >> 16 | 0x40u : rounded);  // a NaN stays one
  }
}

template <class T>
void real_part(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* in = reinterpret_cast<const T*>(data[1]);
  TORCH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = in[2 * i];
}
template <class T>
void with_zero(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* in = reinterpret_cast<const T*>(data[1]);
  TORCH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[2 * i] = in[i], out[2 * i + 1] = 0;
}
template <class To, class From>
void convert_pairs(char* const* data, int64_t n, const void* s) {
  convert<To, From>(data, 2 * n, s);
}
template <class T>
void complex_to_bool(char* const* data, int64_t n, const void*) {
  uint8_t* out = reinterpret_cast<uint8_t*>(data[0]);
  const T* in = reinterpret_cast<const T*>(data[1]);
  TORCH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = (in[2 * i] != 0) | (in[2 * i + 1] != 0);
}

// Integers of one width have the same low bits, so their conversions to integers no wider are shared.
template <class From>
constexpr void convert_from(Staging& t, DType from) {
  auto set = [&](DType to, Loop l) {
    if (to != from) t.convert[int(to)][int(from)] = l;
  };
  set(DType::Bool, &convert<bool, From>);
  if constexpr (std::is_floating_point_v<From>) {
    set(DType::Int8, &convert<int8_t, From>), set(DType::UInt8, &convert<int8_t, From>);
    set(DType::Int16, &convert<int16_t, From>), set(DType::UInt16, &convert<int16_t, From>);
    set(DType::Int32, &convert<int32_t, From>), set(DType::UInt32, &convert<uint32_t, From>);
    set(DType::Int64, &convert<int64_t, From>), set(DType::UInt64, &convert<uint64_t, From>);
  } else {
    set(DType::Int8, &convert<uint8_t, From>), set(DType::UInt8, &convert<uint8_t, From>);
    set(DType::Int16, &convert<uint16_t, From>), set(DType::UInt16, &convert<uint16_t, From>);
    set(DType::Int32, &convert<uint32_t, From>), set(DType::UInt32, &convert<uint32_t, From>);
    set(DType::Int64, &convert<uint64_t, From>), set(DType::UInt64, &convert<uint64_t, From>);
  }
  if constexpr (!std::is_same_v<From, float>) set(DType::Float32, &convert<float, From>);
  if constexpr (!std::is_same_v<From, double>) set(DType::Float64, &convert<double, From>);
}

constexpr Staging make_table() {
  Staging t{};
#define TORCH_BY_SIZE(f) \
  t.f[0] = &f<uint8_t>, t.f[1] = &f<uint16_t>, t.f[2] = &f<uint32_t>, t.f[3] = &f<uint64_t>, t.f[4] = &f<Pair>;
  TORCH_BY_SIZE(gather)
  TORCH_BY_SIZE(scatter)
  TORCH_BY_SIZE(fill)
#undef TORCH_BY_SIZE
  t.transpose[0] = &transpose<uint8_t, 16>, t.transpose[1] = &transpose<uint16_t, 8>;
  t.transpose[2] = &transpose<uint32_t, 4>, t.transpose[3] = &transpose<uint64_t, 2>;
  t.transpose[4] = &transpose<Pair, 1>;
  convert_from<bool>(t, DType::Bool);
  convert_from<uint8_t>(t, DType::UInt8), convert_from<int8_t>(t, DType::Int8);
  convert_from<uint16_t>(t, DType::UInt16), convert_from<int16_t>(t, DType::Int16);
  convert_from<uint32_t>(t, DType::UInt32), convert_from<int32_t>(t, DType::Int32);
  convert_from<uint64_t>(t, DType::UInt64), convert_from<int64_t>(t, DType::Int64);
  convert_from<float>(t, DType::Float32), convert_from<double>(t, DType::Float64);
  auto set = [&](DType to, DType from, Loop l) { t.convert[int(to)][int(from)] = l; };
  set(DType::Float32, DType::Float16, &half_to_float);
  set(DType::Float16, DType::Float32, &float_to_half);
  set(DType::Float32, DType::BFloat16, &bfloat_to_float);
  set(DType::BFloat16, DType::Float32, &float_to_bfloat);
  set(DType::Float32, DType::Complex64, &real_part<float>);
  set(DType::Float64, DType::Complex128, &real_part<double>);
  set(DType::Complex64, DType::Float32, &with_zero<float>);
  set(DType::Complex128, DType::Float64, &with_zero<double>);
  set(DType::Complex128, DType::Complex64, &convert_pairs<double, float>);
  set(DType::Complex64, DType::Complex128, &convert_pairs<float, double>);
  set(DType::Bool, DType::Complex64, &complex_to_bool<float>);
  set(DType::Bool, DType::Complex128, &complex_to_bool<double>);
  return t;
}

}  // namespace

extern constexpr Staging staging_table = make_table();

}  // namespace torch::TORCH_ISA
