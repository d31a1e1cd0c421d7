// The operators as methods of Tensor, for C++ that is written like Python: x.mm(w).add_(b).sigmoid().sum(0).
// A number may stand for a tensor, and one int for a list of them.
//
// It comes before other headers of torch, which extend class Tensor for it.
#pragma once
#ifndef TORCH_METHODS
#define TORCH_METHODS
#endif
namespace torch {
class ScalarOfPrograms;
}
#include <algorithm>
#include <complex>
#include <vector>

#include "torch/core/accessor.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops.h"
#include "torch/core/sparse.h"

#ifndef TORCH_TENSOR_HAS_METHODS
#error include torch/extension.h (or torch/core/methods.h) before other headers of torch
#endif

namespace torch {
namespace detail {

// Argument `a` for a parameter of type P; lives until the end of the call.
template <class P, class A>
decltype(auto) fit(A&& a) {
  using Plain = std::remove_cvref_t<A>;
  using Wanted = std::remove_cvref_t<P>;
  constexpr bool is_list = std::same_as<Wanted, IntArrayRef> || std::same_as<Wanted, std::optional<IntArrayRef>>;
  if constexpr (std::same_as<Wanted, Tensor> && Number<Plain>)
    return number(scalar_of(a));
  else if constexpr (is_list && std::integral<Plain> && !std::same_as<Plain, bool>)
    return OneInt{int64_t(a)};
  else if constexpr (is_list && std::same_as<Plain, std::initializer_list<int64_t>>)
    return IntArrayRef(a);
  else if constexpr (std::same_as<Wanted, Tensor> && Maybe<A>)
    return undefined_or(a);
  else
    return std::forward<A>(a);
}
// A bool is no int, and a float is none either: that tells rows of one name apart.
template <class P, class A>
constexpr bool fits() {
  using Plain = std::remove_cvref_t<A>;
  if constexpr (std::same_as<P, int64_t>)
    return std::is_integral_v<Plain> && !std::same_as<Plain, bool>;
  else if constexpr (std::same_as<P, bool>)
    return std::same_as<Plain, bool>;
  else if constexpr (std::is_arithmetic_v<P>)
    return std::is_arithmetic_v<Plain>;
  else
    return true;
}

template <class P, class A>
constexpr bool mistakes_bool() {
  return std::same_as<P, int64_t> && std::same_as<std::remove_cvref_t<A>, bool>;
}

template <class Tag, size_t I>
struct ParamAt {
  static auto type() {
    if constexpr (I < Signature<Tag>::schema.count)
      return std::type_identity<typename Signature<Tag>::template Param<I>>{};
    else
      return std::type_identity<void>{};
  }
  using Type = typename decltype(type())::type;
};

template <class Tag, class Seq, class... Args>
struct Method;
template <class Tag, size_t... I, class... Args>
struct Method<Tag, std::index_sequence<I...>, Args...> {
  static constexpr bool takes_self = [] {
    constexpr const Schema& s = Signature<Tag>::schema;
    return s.count > 0 && s.params[0].kind == Kind::Tensor && s.view(s.params[0].name) == "self";
  }();
  static decltype(auto) call(const Tensor& self, Args&&... args)
    requires requires { Callable<Tag>()(self, fit<typename ParamAt<Tag, I + 1>::Type>(std::forward<Args>(args))...); }
  {
    return Callable<Tag>()(self, fit<typename ParamAt<Tag, I + 1>::Type>(std::forward<Args>(args))...);
  }
  static constexpr bool mistakes = (mistakes_bool<typename ParamAt<Tag, I + 1>::Type, Args>() || ...);
  static constexpr bool exists =
      takes_self && (fits<typename ParamAt<Tag, I + 1>::Type, Args>() && ...) &&
      requires(const Tensor& self, Args&&... args) { call(self, std::forward<Args>(args)...); };
  // Whether numbers stand only where the row says that they may.
  static constexpr bool is_exact =
      exists && ((!Number<std::remove_cvref_t<Args>> ||
                  !std::same_as<std::remove_cvref_t<typename ParamAt<Tag, I + 1>::Type>, Tensor> ||
                  NumberCall<Tag>::accepts(I + 1)) &&
                 ...);
};
template <class Tag, class... Args>
using MethodOf = Method<Tag, std::index_sequence_for<Args...>, Args...>;

// The first row that takes the arguments as they are, or else one that takes numbers as tensors.
template <class Tag, class... More>
struct Methods {
  template <class... Args>
  static constexpr bool has_exact = MethodOf<Tag, Args...>::is_exact || (MethodOf<More, Args...>::is_exact || ...);
  template <class... Args>
  static decltype(auto) call(const Tensor& self, Args&&... args) {
    static_assert(sizeof...(More) > 0 || !MethodOf<Tag, Args...>::mistakes, "a bool stands in the place of an int");
    constexpr bool is_it = has_exact<Args...> ? MethodOf<Tag, Args...>::is_exact : MethodOf<Tag, Args...>::exists;
    if constexpr (is_it || sizeof...(More) == 0)
      return MethodOf<Tag, Args...>::call(self, std::forward<Args>(args)...);
    else
      return Methods<More...>::call(self, std::forward<Args>(args)...);
  }
};
template <class Tag>
struct MethodsOf : Methods<Tag> {};

#define TORCH_OVERLOADS(NAME, ...) \
  template <>                      \
  struct MethodsOf<op::NAME> : Methods<op::NAME, __VA_ARGS__> {};
#define TORCH_METHOD_OVERLOADS TORCH_OVERLOADS
#include "torch/core/ops/overloads.def"
TORCH_OVERLOADS(repeat_interleave, op::repeat_interleave_self, op::repeat_interleave_counts)
#undef TORCH_OVERLOADS
#undef TORCH_METHOD_OVERLOADS

// Rows that share a name as functions, too, and arguments in PyTorch's order.
template <>
struct OverloadsOf<op::repeat_interleave> {
  using Type = Overloaded<op::repeat_interleave, op::repeat_interleave_self, op::repeat_interleave_counts>;
};
template <>
struct OverloadsOf<op::unique_consecutive> {
  struct Type : Callable<op::unique_consecutive> {
    using Callable<op::unique_consecutive>::operator();
    auto operator()(const Tensor& x, bool inverse = false, bool counts = false, std::optional<int64_t> dim = {}) const {
      return (*this)(x, dim, inverse, counts);
    }
  };
};
template <>
struct OverloadsOf<op::sparse_coo_tensor> {
  struct Type : Callable<op::sparse_coo_tensor> {
    using Callable<op::sparse_coo_tensor>::operator();
    Tensor operator()(const Tensor& indices, const Tensor& values, IntArrayRef size, const TensorOptions& o) const {
      const auto wanted = o.argument<Kind::DType>(std::optional<DType>(values.dtype()));
      return (*this)(indices, wanted == values.dtype() ? values : values.to(*wanted), size);
    }
  };
};

}  // namespace detail

#define TORCH_OP_AS(METHOD, NAME)                                                            \
  template <class... Args>                                                                   \
  decltype(auto) Tensor::METHOD(Args&&... args) const {                                      \
    return detail::MethodsOf<op::NAME>::call(*this, std::forward<Args>(args)...);            \
  }                                                                                          \
  template <class... Args>                                                                   \
  decltype(auto) Tensor::METHOD(std::initializer_list<int64_t> list, Args&&... args) const { \
    return detail::MethodsOf<op::NAME>::call(*this, list, std::forward<Args>(args)...);      \
  }
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) TORCH_OP_AS(NAME, NAME)
#include "torch/core/ops/all.def"
TORCH_OP_AS(std, stddev)
TORCH_OP_AS(__and__, bitwise_and)
TORCH_OP_AS(__or__, bitwise_or)
TORCH_OP_AS(__xor__, bitwise_xor)
TORCH_OP_AS(__lshift__, bitwise_left_shift)
TORCH_OP_AS(__rshift__, bitwise_right_shift)
#undef TORCH_OP
#undef TORCH_OP_AS

template <std::same_as<bool> Stable, std::integral Dim>
std::tuple<Tensor, Tensor> Tensor::sort(Stable stable, Dim dim, bool descending) const {
  return torch::sort(*this, int64_t(dim), descending, stable);
}
template <std::same_as<bool> Stable, std::integral Dim>
Tensor Tensor::argsort(Stable stable, Dim dim, bool descending) const {
  return torch::argsort(*this, int64_t(dim), descending, stable);
}

inline Tensor Tensor::to(const TensorOptions& options, bool, bool copy) const {
  auto type = options.argument<Kind::DType>(std::optional<DType>(dtype()));
  auto place = options.argument<Kind::Device>(std::optional<Device>(device()));
  return !copy && type == dtype() && place == device() ? *this : torch::_to_copy(*this, type, place);
}
inline Tensor Tensor::to(DType t, bool non_blocking, bool copy) const {
  return to(TensorOptions(t), non_blocking, copy);
}
inline Tensor Tensor::to(Device device, DType t, bool non_blocking, bool copy) const {
  return to(TensorOptions(t).device(device), non_blocking, copy);
}
inline Tensor Tensor::to(const Tensor& like) const { return to(like.options()); }
inline Tensor Tensor::type_as(const Tensor& like) const { return to(like); }
inline Tensor Tensor::cpu() const { return to(TensorOptions(DeviceType::CPU)); }
// A number under the names of PyTorch's C++.
class ScalarOfPrograms : public Scalar {
 public:
  using Scalar::Scalar;
  constexpr ScalarOfPrograms(const Scalar& v) noexcept : Scalar(v) {}
  double toDouble() const noexcept { return to_double(); }
  float toFloat() const noexcept { return float(to_double()); }
  int64_t toLong() const noexcept { return to_int(); }
  int toInt() const noexcept { return int(to_int()); }
  bool toBool() const noexcept { return to_bool(); }
  std::complex<double> toComplexDouble() const noexcept { return to_complex(); }
  bool isIntegral(bool include_bool) const noexcept { return is_integral() && (include_bool || !is_bool()); }
  bool isFloatingPoint() const noexcept { return is_float(); }
  bool isBoolean() const noexcept { return is_bool(); }
  bool isComplex() const noexcept { return is_complex(); }
};
inline const Tensor& Tensor::operator=(const Tensor& value) const&& { return torch::copy_(*this, value), *this; }
inline const Tensor& Tensor::operator=(const Scalar& value) const&& { return torch::fill_(*this, value), *this; }
inline ScalarOfPrograms Tensor::item() const {
  TORCH_CHECK(numel() == 1, "item: a tensor of one element is needed, got ", *this);
  return number_of(*this);
}
template <class T>
T Tensor::item() const {
  return item().template to<T>();
}
template <class T, int N>
auto Tensor::accessor() const {
  return torch::accessor<T, N>(*this);
}
template <class T, int N, template <class> class Traits>
auto Tensor::packed_accessor32() const {
  TORCH_CHECK(numel() < int64_t(1) << 31, "packed_accessor32: expected less than 2^31 elements, got ", *this);
  return packed_accessor64<T, N, Traits>();
}
template <class T, int N, template <class> class Traits>
auto Tensor::packed_accessor64() const {
  return torch::accessor<T, N>(*this);
}
template <class T>
T* Tensor::mutable_data_ptr() const {
  return data_ptr<T>();
}
template <class T>
const T* Tensor::const_data_ptr() const {
  return data_ptr<T>();
}
template <class T>
T* Tensor::data_ptr() const {
  TORCH_CHECK(dtype() == dtype_of<std::remove_const_t<T>>, "data_ptr: expected elements of ",
              dtype_of<std::remove_const_t<T>>, ", got ", *this);
  return data<T>();
}
inline void* Tensor::data_ptr() const { return data(); }
inline void* Tensor::mutable_data_ptr() const { return data(); }
inline const void* Tensor::const_data_ptr() const { return data(); }
inline TensorOptions Tensor::options() const { return options_of(*this); }
inline TypeOptions Tensor::type() const { return options_of(*this); }
inline std::string Tensor::toString() const { return type().toString(); }
inline Tensor Tensor::toType(DType t) const { return to(t); }
inline DType Tensor::scalar_type() const { return dtype(); }
inline Layout Tensor::layout() const { return layout_of(*this); }
inline int64_t Tensor::ndimension() const { return dim(); }
inline int64_t Tensor::nbytes() const { return numel() * item_size(); }
inline int64_t Tensor::element_size() const { return item_size(); }
inline int64_t Tensor::itemsize() const { return item_size(); }
inline int64_t Tensor::get_device() const { return device().is_cpu() ? -1 : device().index; }
inline bool Tensor::is_same(const Tensor& other) const { return get() == other.get(); }
inline bool Tensor::is_nonzero() const { return item().template to<bool>(); }
inline bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return is_contiguous();
  const int64_t n = dim();
  if (n != (format == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  int64_t step = 1;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t d = k == 0       ? 1
                      : k == n - 1 ? 0
                                   : n - k;  // channels, then from the last dim to the third, then the batch
    if (size(d) != 1 && stride(d) != step) return false;
    step *= size(d);
  }
  return true;
}
inline MemoryFormat Tensor::suggest_memory_format() const {
  if (is_contiguous()) return MemoryFormat::Contiguous;
  for (MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
    if (is_contiguous(format)) return format;
  return MemoryFormat::Contiguous;
}
inline bool Tensor::is_cpu() const { return device().type == DeviceType::CPU; }
inline bool Tensor::is_cuda() const { return device().type == DeviceType::CUDA; }
inline bool Tensor::is_sparse() const { return has(DispatchKey::Sparse); }
inline bool Tensor::is_floating_point() const { return torch::is_floating(dtype()); }
inline bool Tensor::is_signed() const { return torch::is_signed(dtype()); }
inline bool Tensor::is_quantized() const { return false; }
inline bool Tensor::has_storage() const { return has_memory(); }
inline bool Tensor::is_alias_of(const Tensor& other) const {
  return has_memory() && other.has_memory() && get()->storage == other->storage;
}
// Whether its elements fill the memory from the first to the last, each once.
inline bool Tensor::is_non_overlapping_and_dense() const {
  const Extent e = extent_of(sizes(), strides());
  if (e.high - e.low != numel()) return numel() == 0;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < dim(); ++d)
    if (size(d) != 1) dims.push_back(d);
  std::sort(dims.begin(), dims.end(), [this](int64_t a, int64_t b) { return stride(a) < stride(b); });
  int64_t step = 1;
  for (int64_t d : dims) {
    if (stride(d) != step) return false;
    step *= size(d);
  }
  return true;
}
// The memory of a tensor, for questions.
class StorageOfTensor {
 public:
  explicit StorageOfTensor(Tensor t) : tensor_(std::move(t)) {}
  size_t nbytes() const noexcept { return tensor_->storage->nbytes; }
  void* data() const noexcept { return tensor_->storage->data; }
  void* mutable_data() const noexcept { return data(); }
  template <class T>
  T* data() const noexcept {
    return static_cast<T*>(data());
  }
  Device device() const noexcept { return tensor_.device(); }
  size_t use_count() const noexcept { return tensor_->storage->use_count(); }
  bool is_alias_of(const StorageOfTensor& other) const noexcept { return data() == other.data(); }

 private:
  Tensor tensor_;
};
inline StorageOfTensor Tensor::storage() const {
  TORCH_CHECK(has_memory(), "storage: ", *this, " has no memory of its own");
  return StorageOfTensor(*this);
}
inline Tensor Tensor::to_sparse_csr() const { return torch::to_sparse(*this, std::nullopt, Layout::SparseCsr); }
inline TensorImpl* Tensor::unsafeGetTensorImpl() const { return get(); }
inline int64_t Tensor::_version() const { return version(); }
inline int64_t Tensor::sym_size(int64_t d) const { return size(d); }
inline int64_t Tensor::sym_numel() const { return numel(); }
inline IntArrayRef Tensor::sym_sizes() const { return sizes(); }
inline bool Tensor::is_complex() const { return torch::is_complex(dtype()); }
inline Tensor Tensor::operator[](int64_t i) const { return torch::select(*this, 0, i); }
inline Tensor Tensor::operator[](const Tensor& indices) const { return torch::index(*this, {indices}); }

// With numbers of C++'s own types on either side, beside the Scalar of arithmetic.h: 0 would be a null handle as well.
// Handles of one tensor are equal by ==, so two tensors are compared by x.eq(y), and x == 0 is a tensor.
#define TORCH_NUMBERS(SYMBOL, FUNCTION)               \
  template <detail::Number N>                         \
  Tensor operator SYMBOL(const Tensor& a, N b) {      \
    return FUNCTION(a, number(detail::scalar_of(b))); \
  }                                                   \
  template <detail::Number N>                         \
  Tensor operator SYMBOL(N a, const Tensor& b) {      \
    return FUNCTION(number(detail::scalar_of(a)), b); \
  }
#define TORCH_INFIX(SYMBOL, FUNCTION)                                                        \
  inline Tensor operator SYMBOL(const Tensor& a, const Tensor& b) { return FUNCTION(a, b); } \
  TORCH_NUMBERS(SYMBOL, FUNCTION)
#define TORCH_ASSIGNMENT(SYMBOL, FUNCTION)                                                 \
  inline Tensor& operator SYMBOL(Tensor& a, const Tensor& b) { return FUNCTION(a, b), a; } \
  template <detail::Number N>                                                              \
  Tensor& operator SYMBOL(Tensor& a, N b) {                                                \
    return FUNCTION(a, number(detail::scalar_of(b))), a;                                   \
  }
TORCH_NUMBERS(+, add)
TORCH_NUMBERS(-, sub)
TORCH_NUMBERS(*, mul)
TORCH_NUMBERS(/, true_divide)
TORCH_INFIX(<, lt)
TORCH_INFIX(>, gt)
TORCH_INFIX(<=, le)
TORCH_INFIX(>=, ge)
TORCH_INFIX(%, remainder)
TORCH_INFIX(&, bitwise_and)
TORCH_INFIX(|, bitwise_or)
TORCH_INFIX(^, bitwise_xor)
TORCH_NUMBERS(==, eq)
TORCH_NUMBERS(!=, ne)
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }
TORCH_ASSIGNMENT(+=, add_)
TORCH_ASSIGNMENT(-=, sub_)
TORCH_ASSIGNMENT(*=, mul_)
TORCH_ASSIGNMENT(/=, div_)
#undef TORCH_NUMBERS
#undef TORCH_INFIX
#undef TORCH_ASSIGNMENT

}  // namespace torch
