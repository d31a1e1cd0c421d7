// The names that C++ extensions of PyTorch use, for what this library has: at::Tensor, torch::kFloat32, AT_CHECK,
// AT_DISPATCH_FLOATING_TYPES, at::parallel_for. What is not here does not exist (docs/extensions.md lists it).
#pragma once
#include "torch/core/methods.h"
//
#include <algorithm>
#include <atomic>
#include <bit>
#include <complex>
#include <functional>
#include <limits>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/core/Dict.h"
#include "ATen/core/List.h"
#include "torch/core/dlpack.h"
#include "torch/core/pool.h"
#include "torch/halves.h"

namespace torch {

// A dtype under the name of before, with the names of its values: ScalarType::Half.
class ScalarType {
 public:
  constexpr ScalarType() = default;
  constexpr ScalarType(DType t) : dtype_(t) {}
  constexpr operator DType() const { return dtype_; }
#define TORCH_NAMES(name, type, python, legacy) static constexpr DType name = DType::name;
  TORCH_FOR_EACH_DTYPE(TORCH_NAMES)
#undef TORCH_NAMES
  static constexpr DType Byte = UInt8, Char = Int8, Short = Int16, Int = Int32, Long = Int64, Half = Float16,
                         Float = Float32, Double = Float64, ComplexFloat = Complex64, ComplexDouble = Complex128;

 private:
  DType dtype_ = DType::Float32;
};
using IntList = IntArrayRef;
using Dtype = ScalarType;
template <class T>
using optional = std::optional<T>;
using std::make_optional;
using std::nullopt;
template <class T, size_t N>
using TensorAccessor = Accessor<T, int(N)>;
template <class T>
struct DefaultPtrTraits {};  // how a kernel of PyTorch is to see a pointer: it makes no difference here
template <class T>
struct RestrictPtrTraits {};
template <class T, size_t>
using SmallVector = std::vector<T>;

// The device of a kernel: on the CPU there is nothing to change. c10/cuda/CUDAGuard.h has those of CUDA.
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(std::optional<Device> device) {
    TORCH_CHECK(!device || device->is_cpu(), "DeviceGuard: it is for the CPU, got ", *device,
                "; c10::cuda::CUDAGuard (c10/cuda/CUDAGuard.h) is for CUDA");
  }
};
struct DeviceGuard : OptionalDeviceGuard {
  explicit DeviceGuard(Device device) : OptionalDeviceGuard(device) {}
};
inline std::optional<Device> device_of(const Tensor& t) { return t ? std::optional(t.device()) : std::nullopt; }

inline int get_num_threads() { return num_threads(); }
// The words of a message, one behind the other.
template <class... A>
std::string str(const A&... words) {
  return message(words...);
}

// torch::kFloat32 and its older name torch::kFloat.
#define TORCH_NAMES(name, type, python, legacy) inline constexpr DType k##name = DType::name;
TORCH_FOR_EACH_DTYPE(TORCH_NAMES)
#undef TORCH_NAMES
inline constexpr DType kByte = kUInt8, kChar = kInt8, kShort = kInt16, kInt = kInt32, kLong = kInt64, kHalf = kFloat16,
                       kFloat = kFloat32, kDouble = kFloat64, kComplexFloat = kComplex64, kComplexDouble = kComplex128;
inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;
inline constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr,
                        kSparseCsc = Layout::SparseCsc, kSparseBsr = Layout::SparseBsr, kSparseBsc = Layout::SparseBsc;
inline constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;

inline std::ostream& operator<<(std::ostream& out, Layout l) {
  constexpr const char* kNames[] = {"Strided", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc"};
  return out << kNames[int(l)];
}
inline std::ostream& operator<<(std::ostream& out, MemoryFormat f) {
  constexpr const char* kNames[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << kNames[int(f)];
}

inline const char* toString(DType t) { return legacy_name(t); }

namespace detail {
// Threads of one loop are numbered as they come to it, so that numbers stay below get_num_threads().
struct PlaceInLoop {
  uint64_t loop = 0;
  int number = 0;
};
inline std::atomic<uint64_t> loops{0};
inline thread_local PlaceInLoop place_in_loop;
}  // namespace detail

// f(from, to) over pieces of [begin, end).
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  if (begin >= end) return;
  const bool is_inner = in_parallel_region();  // which runs in the thread of the outer one, and has its number
  const uint64_t loop = ++detail::loops;
  std::atomic<int> threads{0};
  parallel_for(end - begin, grain > 0 ? grain : 1, [&](int64_t from, int64_t to) {
    if (!is_inner && detail::place_in_loop.loop != loop) detail::place_in_loop = {loop, threads++};
    f(begin + from, begin + to);
  });
}
inline int get_thread_num() { return in_parallel_region() ? detail::place_in_loop.number : 0; }

// What `f(from, to, identity)` gives for pieces of [begin, end), put together by `join`, in the order of the pieces.
template <class T, class F, class Join>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, T identity, const F& f, const Join& join) {
  if (begin >= end) return identity;
  if (grain <= 0) grain = 1;
  std::vector<T> parts(size_t((end - begin + grain - 1) / grain), identity);
  parallel_for(0, int64_t(parts.size()), 1, [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k)
      parts[size_t(k)] = f(begin + k * grain, std::min(end, begin + (k + 1) * grain), identity);
  });
  for (const T& part : parts) identity = join(identity, part);
  return identity;
}

namespace internal {
inline constexpr int64_t GRAIN_SIZE = 32768;  // elements that are worth a thread
}

// for (auto i : c10::irange(n)), and from a to b.
template <class B>
auto irange(B end) {
  return std::views::iota(B(0), end < B(0) ? B(0) : end);
}
template <class A, class B>
auto irange(A begin, B end) {
  return std::views::iota(B(begin), end < B(begin) ? B(begin) : end);
}

// A tensor over memory of the caller's: contiguous, or with strides in elements. `deleter` is called with the memory
// when the last tensor over it is gone.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                        const TensorOptions& options = {}) {
  auto* context = new std::function<void(void*)>(std::move(deleter));
  return tensor_over(
      data, sizes, strides, options.dtype(),
      [](Storage* s) noexcept {
        auto* f = static_cast<std::function<void(void*)>*>(s->context);
        if (*f) (*f)(s->data);
        delete f;
      },
      context);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                        const TensorOptions& options = {}) {
  return from_blob(data, sizes, contiguous_strides(sizes), std::move(deleter), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return from_blob(data, sizes, strides, std::function<void(void*)>(), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return from_blob(data, sizes, contiguous_strides(sizes), options);
}

namespace detail {
// Numbers in C++ become the dtypes of numbers in Python.
template <class T>
using Natural = std::conditional_t<std::is_same_v<T, bool> || !std::is_arithmetic_v<T>, T,
                                   std::conditional_t<std::is_integral_v<T>, int64_t, float>>;
}  // namespace detail

inline Tensor einsum(const std::string& equation, TensorList operands) { return torch::_einsum(equation, operands); }
inline Tensor einsum(const std::string& equation, std::initializer_list<Tensor> operands) {
  return torch::_einsum(equation, TensorList(operands.begin(), operands.size()));
}

// A row of numbers, or one number as a 0-d tensor: torch::tensor({1.0, 2.0}), torch::tensor(3, torch::kFloat64).
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = dtype_of<detail::Natural<T>>) {
  return visit_dtype(options.dtype(), [&](auto one) {
    using E = decltype(one);
    Tensor x = torch::empty({int64_t(values.size())}, options.dtype());
    E* to = x.data<E>();
    for (T v : values) *to++ = Scalar(detail::scalar_of(v)).template to<E>();
    return x;
  });
}
// Rows of a matrix: torch::tensor({{1, 2}, {3, 4}}).
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows,
              const TensorOptions& options = dtype_of<detail::Natural<T>>) {
  std::vector<Tensor> all;
  for (const std::initializer_list<T>& row : rows) {
    TORCH_CHECK(row.size() == rows.begin()->size(), "tensor: rows of one length are needed, got ", rows.begin()->size(),
                " and ", row.size());
    all.push_back(tensor(row, options));
  }
  return torch::stack(all);
}
template <detail::Number T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = dtype_of<detail::Natural<T>>) {
  Tensor x = torch::empty({int64_t(values.size())}, options.dtype());
  visit_dtype(options.dtype(), [&](auto one) {
    using E = decltype(one);
    E* to = x.data<E>();
    for (T v : values) *to++ = Scalar(detail::scalar_of(v)).template to<E>();
  });
  return x;
}
template <detail::Number T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& options = dtype_of<detail::Natural<T>>) {
  return tensor(values.vec(), options);
}
template <detail::Number T>
Tensor tensor(T value, const TensorOptions& options = dtype_of<detail::Natural<T>>) {
  return tensor({value}, options).view({});
}

namespace detail {
template <DType t>
struct TypeOf;
#define TORCH_NAMES(name, type, python, legacy) \
  template <>                                   \
  struct TypeOf<DType::name> {                  \
    using Type = type;                          \
  };
TORCH_FOR_EACH_DTYPE(TORCH_NAMES)
#undef TORCH_NAMES
template <class T>
struct Computed {
  using Type = T;
};
template <>
struct Computed<Half> {
  using Type = c10::Half;
};
template <>
struct Computed<BFloat16> {
  using Type = c10::BFloat16;
};
template <DType t>
using CppType = typename Computed<typename TypeOf<t>::Type>::Type;

inline DType dtype_in(DType t) { return t; }
inline DType dtype_in(const TensorOptions& o) { return o.dtype(); }
}  // namespace detail

}  // namespace torch

namespace at {
using namespace torch;
using Scalar = torch::ScalarOfPrograms;
}  // namespace at
namespace c10 {
using namespace torch;
using Scalar = torch::ScalarOfPrograms;
using SymInt = int64_t;  // a size, which is known when C++ runs
using SymIntArrayRef = torch::IntArrayRef;
using string_view = std::string_view;
template <class T>
using complex = std::complex<T>;
template <class T>
struct CppTypeToScalarType {
  static constexpr ScalarType value = dtype_of<T>;
};
}  // namespace c10

// What kernels ask of a dtype: std::numeric_limits<scalar_t>::lowest(). Each value is that of the bits.
#define TORCH_LIMITS(TYPE, DIGITS, DIGITS10, MAX_DIGITS10, LOWEST_EXPONENT, EXPONENT, LEAST, MOST, STEP, BOUNDLESS, \
                     NONE)                                                                                          \
  template <>                                                                                                       \
  class std::numeric_limits<TYPE> : public std::numeric_limits<float> {                                             \
    static constexpr TYPE of(uint16_t bits) noexcept { return std::bit_cast<TYPE>(bits); }                          \
                                                                                                                    \
   public:                                                                                                          \
    static constexpr int digits = DIGITS, digits10 = DIGITS10, max_digits10 = MAX_DIGITS10;                         \
    static constexpr int min_exponent = LOWEST_EXPONENT, max_exponent = EXPONENT;                                   \
    static constexpr TYPE min() noexcept { return of(LEAST); }                                                      \
    static constexpr TYPE max() noexcept { return of(MOST); }                                                       \
    static constexpr TYPE lowest() noexcept { return of(MOST | 0x8000u); }                                          \
    static constexpr TYPE epsilon() noexcept { return of(STEP); }                                                   \
    static constexpr TYPE infinity() noexcept { return of(BOUNDLESS); }                                             \
    static constexpr TYPE quiet_NaN() noexcept { return of(NONE); }                                                 \
    static constexpr TYPE signaling_NaN() noexcept { return of(BOUNDLESS | 1u); }                                   \
    static constexpr TYPE denorm_min() noexcept { return of(1); }                                                   \
  }
TORCH_LIMITS(torch::Half, 11, 3, 5, -13, 16, 0x0400u, 0x7bffu, 0x1400u, 0x7c00u, 0x7e00u);
TORCH_LIMITS(torch::BFloat16, 8, 2, 4, -125, 128, 0x0080u, 0x7f7fu, 0x3c00u, 0x7f80u, 0x7fc0u);
TORCH_LIMITS(c10::Half, 11, 3, 5, -13, 16, 0x0400u, 0x7bffu, 0x1400u, 0x7c00u, 0x7e00u);
TORCH_LIMITS(c10::BFloat16, 8, 2, 4, -125, 128, 0x0080u, 0x7f7fu, 0x3c00u, 0x7f80u, 0x7fc0u);
#undef TORCH_LIMITS

#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_LIKELY(condition) __builtin_expect(bool(condition), 1)
#define C10_UNLIKELY(condition) __builtin_expect(bool(condition), 0)
#define C10_RESTRICT __restrict
#ifdef __CUDACC__
#define C10_HOST_DEVICE __host__ __device__
#else
#define C10_HOST_DEVICE
#endif

#define AT_CHECK TORCH_CHECK
#define AT_ASSERT(condition) TORCH_CHECK(condition, "AT_ASSERT(" #condition ") failed at " __FILE__ ":", __LINE__)
#define AT_ASSERTM TORCH_CHECK
#define AT_ERROR(...) TORCH_CHECK(false, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...)                                             \
  TORCH_CHECK(condition, "TORCH_INTERNAL_ASSERT(" #condition ") failed at " __FILE__ ":", \
              __LINE__ __VA_OPT__(, ": ", ) __VA_ARGS__)

#define TORCH_CHECK_COMPARED(a, sign, b, ...) \
  TORCH_CHECK((a)sign(b), #a " " #sign " " #b ": they are ", (a), " and ", (b)__VA_OPT__(, "; ", ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b, ...) TORCH_CHECK_COMPARED(a, ==, b, __VA_ARGS__)
#define TORCH_CHECK_NE(a, b, ...) TORCH_CHECK_COMPARED(a, !=, b, __VA_ARGS__)
#define TORCH_CHECK_LT(a, b, ...) TORCH_CHECK_COMPARED(a, <, b, __VA_ARGS__)
#define TORCH_CHECK_LE(a, b, ...) TORCH_CHECK_COMPARED(a, <=, b, __VA_ARGS__)
#define TORCH_CHECK_GT(a, b, ...) TORCH_CHECK_COMPARED(a, >, b, __VA_ARGS__)
#define TORCH_CHECK_GE(a, b, ...) TORCH_CHECK_COMPARED(a, >=, b, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK_IMPLEMENTED

#define TORCH_LIBRARY(...) \
  static_assert(false, "there is no TORCH_LIBRARY: bind functions with PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)");
#define TORCH_LIBRARY_IMPL TORCH_LIBRARY
#define TORCH_LIBRARY_FRAGMENT TORCH_LIBRARY

// AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "name", [&] { ... x.data_ptr<scalar_t>() ... }): the function with
// scalar_t for the dtype of an AT_DISPATCH_CASE; RuntimeError names another.
#define AT_DISPATCH_CASE(DTYPE, ...)                                   \
  case DTYPE: {                                                        \
    using scalar_t [[maybe_unused]] = ::torch::detail::CppType<DTYPE>; \
    return __VA_ARGS__();                                              \
  }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                                          \
  [&] {                                                                                                              \
    const ::torch::DType dtype_of_dispatch_ = ::torch::detail::dtype_in(TYPE);                                       \
    switch (dtype_of_dispatch_) {                                                                                    \
      __VA_ARGS__                                                                                                    \
      default:                                                                                                       \
        ::torch::throw_error(                                                                                        \
            ::torch::ErrorKind::NotImplemented,                                                                      \
            ::torch::message('"', NAME, "\" not implemented for '", ::torch::legacy_name(dtype_of_dispatch_), "'")); \
    }                                                                                                                \
  }()
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)       \
  AT_DISPATCH_CASE(::torch::kFloat64, __VA_ARGS__) \
  AT_DISPATCH_CASE(::torch::kFloat32, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)     \
  AT_DISPATCH_CASE(::torch::kUInt8, __VA_ARGS__) \
  AT_DISPATCH_CASE(::torch::kInt8, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::torch::kInt16, __VA_ARGS__) \
  AT_DISPATCH_CASE(::torch::kInt32, __VA_ARGS__) \
  AT_DISPATCH_CASE(::torch::kInt64, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)          \
  AT_DISPATCH_CASE(::torch::kComplex64, __VA_ARGS__) \
  AT_DISPATCH_CASE(::torch::kComplex128, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::torch::kFloat16, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(DTYPE, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(DTYPE, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(FIRST, SECOND, TYPE, NAME, ...)                                \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                       \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(FIRST, __VA_ARGS__) \
                         AT_DISPATCH_CASE(SECOND, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(DTYPE, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(DTYPE, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                   \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(                                       \
      TYPE, NAME, AT_DISPATCH_CASE(::torch::kFloat16, __VA_ARGS__) AT_DISPATCH_CASE(::torch::kBFloat16, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                        \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, TYPE, NAME, ...)                                     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                               \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                                     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                              \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                              \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND1(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(A, B, TYPE, NAME, ...)                                     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                          \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, TYPE, NAME, ...)                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                          \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
// For tensors of indices: index_t in the place of scalar_t.
#define AT_DISPATCH_CASE_INDEX(DTYPE, ...)                            \
  case DTYPE: {                                                       \
    using index_t [[maybe_unused]] = ::torch::detail::CppType<DTYPE>; \
    return __VA_ARGS__();                                             \
  }
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                          \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                          \
                     AT_DISPATCH_CASE_INDEX(::torch::kInt32, __VA_ARGS__) \
                         AT_DISPATCH_CASE_INDEX(::torch::kInt64, __VA_ARGS__))
