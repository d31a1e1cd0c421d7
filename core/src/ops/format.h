// Images whose channels lie last in memory stay so through the operators on planes. Of kernels that want rows a result
// is put in order behind them, where a tensor among the arguments has that order and the result does not have it yet:
//
//   set_native<op::max_pool>(keeping_format<max_pool_kernel>);
#pragma once
#include "iterate/dense.h"
#include "torch/core/ops/copy.h"

namespace torch {

// (N, C, H, W) or (N, C, D, H, W) that lies as (N, *, C), perhaps with gaps. What lies both ways, by sizes of one, goes
// by the stride of the batch: (N, C, 1, 1) whose channels were put last does, an ordinary one does not.
inline bool has_channels_last(const Tensor& t) noexcept {
  const int64_t n = t.dim();
  if (TORCH_LIKELY(n < 4 || t.stride(1) != 1) || n > 5) return false;
  int64_t least = t.size(1);
  for (int64_t d = n - 1; d >= 2; --d) {
    if (t.stride(d) < least || t.size(d) == 0) return false;
    least = t.size(d) > 1 ? t.stride(d) * t.size(d) : t.stride(d);
  }
  return t.size(1) > 0 && t.stride(0) >= least && t.stride(0) > 1;
}

// Whether results of n dims follow an argument: a tensor of as many dims, or a list of such tensors.
inline bool orders_channels_last(const Tensor& t, int64_t n) noexcept {
  return t && t.dim() == n && has_channels_last(t);
}
inline bool orders_channels_last(TensorList list, int64_t n) noexcept {
  for (const Tensor& t : list)
    if (!orders_channels_last(t, n)) return false;
  return !list.empty();
}
template <class T>
constexpr bool orders_channels_last(const T&, int64_t) noexcept {
  return false;
}

// A fresh contiguous tensor of four or five dims, before anything is written to it.
inline void put_channels_last(const Tensor& fresh) {
  int64_t stride = 1;
  auto take = [&](int64_t d) {
    fresh->strides()[d] = stride;
    stride *= fresh.size(d) > 0 ? fresh.size(d) : 1;
  };
  take(1);
  for (int64_t d = fresh.dim() - 1; d >= 2; --d) take(d);
  take(0);
  fresh->refresh_geometry();
}

inline Tensor empty_in_format(IntArrayRef sizes, DType dtype, Device device, bool channels_last) {
  Tensor fresh = empty_tensor(sizes, dtype, device);
  if (channels_last) put_channels_last(fresh);
  return fresh;
}

// With channels last and without gaps.
inline bool is_channels_last(const Tensor& t) noexcept {
  int64_t stride = 1;
  auto follows = [&](int64_t d) {
    const bool here = t.size(d) == 1 || t.stride(d) == stride;
    stride *= t.size(d);
    return here;
  };
  bool all = follows(1);
  for (int64_t d = t.dim() - 1; d >= 2; --d) all &= follows(d);
  return all && follows(0);
}

// Row-major, or with its channels last, without gaps and of this dtype: the tensor itself where it is so already.
inline Tensor in_format(const Tensor& t, DType dtype, bool channels_last) {
  if (!channels_last) return as_contiguous(t, dtype);
  if (t.dtype() == dtype && is_channels_last(t)) return t;
  Tensor fresh = empty_in_format(t.sizes(), dtype, t.device(), true);
  copy_into(fresh, t);
  return fresh;
}

// The same numbers with channels last where `lead` has them so, through the public operator: layers see it.
inline Tensor in_order_of(const Tensor& lead, const Tensor& t) {
  const int64_t n = t.dim();
  if (n < 4 || !orders_channels_last(lead, n) || has_channels_last(t)) return t;
  return contiguous(t, n == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d);
}

namespace detail {

inline void follow_format(Tensor& result) {
  if (!result.is_contiguous()) return;
  const Tensor rows = std::move(result);
  result = empty_in_format(rows.sizes(), rows.dtype(), rows.device(), true);
  if (!result.is_meta()) copy_into(result, rows);
}
template <class... T>
Tensor& first_of(std::tuple<T...>& results) {
  return std::get<0>(results);
}
inline Tensor& first_of(Tensor& result) { return result; }

template <auto kernel, class Function>
struct KeepingFormat;
template <auto kernel, class Return, class... Arguments>
struct KeepingFormat<kernel, Return (*)(Arguments...)> {
  static Return call(Arguments... arguments) {
    Return results = kernel(arguments...);
    Tensor& first = first_of(results);
    if (const int64_t n = first ? first.dim() : 0; n >= 4 && (orders_channels_last(arguments, n) || ...))
      follow_format(first);
    return results;
  }
};

}  // namespace detail

// The kernel, with its first result in the order of its arguments.
template <auto kernel>
inline constexpr auto keeping_format = &detail::KeepingFormat<kernel, decltype(kernel)>::call;

}  // namespace torch
