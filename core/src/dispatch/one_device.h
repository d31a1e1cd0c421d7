// The tensors of one call lie on one device. One tensor that is not on the CPU takes the whole call with it, and
// functions ask only `self` or the result where to work: so the functions of the other devices are entered
// through a check, which costs calls on the CPU nothing. rows.cpp puts it there. A function that a plug-in sets in a
// key itself checks itself.
#pragma once
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "torch/core/operator.h"

namespace torch::detail {

// One tensor among a call's arguments, or one list of them.
struct Placed {
  const Tensor* first = nullptr;
  size_t count = 0;
  bool is_list = false;
};
inline Placed placed(const Tensor& t) noexcept { return {&t, 1, false}; }
inline Placed placed(TensorList l) noexcept { return {l.data(), l.size(), true}; }
template <class T>
constexpr Placed placed(const T&) noexcept {
  return {};
}

// RuntimeError when tensors on two devices are among them. Numbers (0-d, on the CPU) go everywhere, and so do indices
// in a list behind a tensor.
void check_one_device(std::string_view op, ArrayRef<Placed> arguments);

template <class Tag>
constexpr bool takes_several_tensors() {
  constexpr const Schema& s = Signature<Tag>::schema;
  int tensors = 0;
  for (int i = 0; i < s.count; ++i)
    tensors += s.params[i].kind == Kind::TensorList ? 2 : s.params[i].kind == Kind::Tensor;
  return tensors > 1;
}

// The function of devices other than the CPU: behind the check, and in front of who names the operator
// where the device has no kernel for it.
template <class Tag, bool checks, class Seq>
struct Elsewhere;
template <class Tag, bool checks, size_t... I>
struct Elsewhere<Tag, checks, std::index_sequence<I...>> {
  using S = Signature<Tag>;
  static inline typename S::Fn next = nullptr;

  static typename S::Return call(typename S::template Param<I>... arguments) {
    if constexpr (checks) {
      const Placed all[] = {placed(arguments)...};
      check_one_device(S::schema.op_name(), {all, sizeof...(I)});
    }
    try {
      return next(arguments...);
    } catch (const MissingWork& missing) {
      missing.rethrow_for(OperatorFunctions<Tag>::row());
    }
  }
};

// Once the tables are filled. Composites call operators, which say what they lack; views have no work to do.
template <class Tag, bool checks>
void guard_devices() noexcept {
  using Guarded = Elsewhere<Tag, checks, std::make_index_sequence<Signature<Tag>::schema.count>>;
  void* const function = Tag::functions[unsigned(DispatchKey::Meta)];  // one for all devices: set_native, set_composite
  if (!function) return;
  Guarded::next = reinterpret_cast<typename Signature<Tag>::Fn>(function);
  for (DispatchKey s : {DispatchKey::CUDA, DispatchKey::Meta, DispatchKey::PrivateUse1})
    if (Tag::functions[unsigned(s)] == function) Tag::functions[unsigned(s)] = reinterpret_cast<void*>(&Guarded::call);
}
template <class Tag>
constexpr bool is_checked(const Attr& attr) {
  return takes_several_tensors<Tag>() && !attr.mixes_devices && !attr.is_pointwise && !attr.is_view;
}

}  // namespace torch::detail

// For all rows of a family, once init() has filled their tables: rows.cpp.
#define X(FAMILY)                 \
  namespace torch::rows::FAMILY { \
  void guard_devices() noexcept;  \
  }
TORCH_FOR_EACH_FAMILY(X)
#undef X
