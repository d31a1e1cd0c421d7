// LAPACK is the CPU's. On a device whose plug-in lends its matrices (it fills LapackWork), an operator that calls
// LAPACK copies its tensors to the CPU, computes there, and copies the results back, which waits twice. A device that
// does not say so has no kernel. Registered by set_lapack() in place of set_native():
//
//   set_lapack<op::linalg_qr, qr>();
//
// A device may compute some itself (SolverWork). Such an operator is registered as set_lapack<op, f, kSolved>(), and
// asks solver_of() where it would begin to compute; another condition may stand in the place of kSolved.
#pragma once
#include "dispatch/work.h"
#include "ops/linalg/work.h"
#include "torch/core/operator.h"
#include "torch/core/ops/copy.h"

namespace torch::linalg {

template <class T>
T moved(const T& x, Device) {
  return x;
}
inline Tensor moved(const Tensor& t, Device device) {
  return !t || t.device() == device ? t : _to_copy(t, std::nullopt, device);
}
template <class... T>
std::tuple<T...> moved(const std::tuple<T...>& all, Device device) {
  return std::apply([&](const T&... t) { return std::tuple<T...>(moved(t, device)...); }, all);
}

// What computes for the matrices of `a` in place of LAPACK; null: nothing does.
inline const SolverWork* solver_of(const Tensor& a) {
  if (TORCH_LIKELY(a.device().type == DeviceType::CPU) || a.is_meta()) return nullptr;
  if (a.dim() < 2 || a.numel() == 0) return nullptr;  // asked before the operator has looked at its arguments
  const SolverWork* const solver = work<SolverWork>.find(a.device());
  return solver && solver->takes(a) ? solver : nullptr;
}
constexpr auto kSolved = [](const Tensor& a, const auto&...) { return solver_of(a) != nullptr; };
constexpr auto kNever = [](const auto&...) { return false; };

// The first tensor's that is not a number on the CPU.
inline void find_device(Device& found, const Tensor& t) {
  if (t && found.type == DeviceType::CPU) found = t.device();
}
template <class T>
void find_device(Device&, const T&) {}

template <class Tag, auto f, auto computes, class Seq>
struct ThroughCpu;
template <class Tag, auto f, auto computes, size_t... I>
struct ThroughCpu<Tag, f, computes, std::index_sequence<I...>> {
  using S = detail::Signature<Tag>;
  static typename S::Return call(typename S::template Param<I>... arguments) {
    Device device;
    (find_device(device, arguments), ...);
    if (device.type == DeviceType::CPU || device.type == DeviceType::Meta) return f(arguments...);
    if (computes(arguments...)) return f(arguments...);
    const Device there = work<LapackWork>.on(device)->through;
    return moved(f(moved(arguments, there)...), device);
  }
};

template <class Tag, auto f, auto computes = kNever>
void set_lapack() noexcept {
  set_native<Tag>(&ThroughCpu<Tag, f, computes, std::make_index_sequence<detail::Signature<Tag>::schema.count>>::call);
  OperatorFunctions<Tag>::set(DispatchKey::CPU, f);
}

}  // namespace torch::linalg
