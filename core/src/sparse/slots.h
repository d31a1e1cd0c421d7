// How operators come to know sparse tensors: by a function of their own, or by saying that what they have is right.
#pragma once
#include "torch/core/operator.h"
#include "torch/core/sparse.h"

namespace torch {

namespace detail {
template <class Tag, class Seq>
struct Admit;
template <class Tag, size_t... I>
struct Admit<Tag, std::index_sequence<I...>> {
  using S = Signature<Tag>;
  static typename S::Return call(typename S::template Param<I>... args) { return below<Tag>(Slot::Sparse, args...); }
};
}  // namespace detail

template <class Tag>
void set_sparse(typename OperatorSlots<Tag>::Fn f) noexcept {
  OperatorSlots<Tag>::set(Slot::Sparse, f);
}
// The operator's kernel and derivative are those of sparse tensors as well; runs what lies below.
template <class Tag>
void admit_sparse() noexcept {
  set_sparse<Tag>(&detail::Admit<Tag, std::make_index_sequence<detail::Signature<Tag>::schema.count>>::call);
}
// A composite that asks its tensors for nothing but sizes and other operators.
template <class Tag>
void admit_composite() noexcept {
  set_sparse<Tag>(OperatorSlots<Tag>::get(Slot::CPU));
}
// A composite written for both layouts.
template <class Tag>
void set_composite_of_both(typename OperatorSlots<Tag>::Fn f) noexcept {
  set_composite<Tag>(f);
  set_sparse<Tag>(f);
}

}  // namespace torch
