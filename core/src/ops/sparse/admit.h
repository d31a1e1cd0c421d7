// How operators come to know sparse tensors: by a function of their own, or by saying that what they have is right.
#pragma once
#include "torch/core/operator.h"
#include "torch/core/sparse.h"

namespace torch {

namespace detail {
template <class Tag, DispatchKey dispatch_key, class Seq>
struct Admit;
template <class Tag, DispatchKey dispatch_key, size_t... I>
struct Admit<Tag, dispatch_key, std::index_sequence<I...>> {
  using S = Signature<Tag>;
  static typename S::Return call(typename S::template Param<I>... args) { return below<Tag>(dispatch_key, args...); }
};
template <class Tag, DispatchKey dispatch_key>
using AdmitTo = Admit<Tag, dispatch_key, std::make_index_sequence<Signature<Tag>::schema.count>>;
}  // namespace detail

template <class Tag>
void set_sparse(typename OperatorFunctions<Tag>::Fn f) noexcept {
  OperatorFunctions<Tag>::set(DispatchKey::Sparse, f);
}
// The operator's kernel and derivative are those of sparse tensors as well; runs what lies below.
template <class Tag>
void admit_sparse() noexcept {
  set_sparse<Tag>(&detail::AdmitTo<Tag, DispatchKey::Sparse>::call);
}
// A composite that asks its tensors for nothing but sizes and other operators.
template <class Tag>
void admit_composite() noexcept {
  set_sparse<Tag>(OperatorFunctions<Tag>::get(DispatchKey::CPU));
}
// A composite written for both layouts.
template <class Tag>
void set_composite_of_both(typename OperatorFunctions<Tag>::Fn f) noexcept {
  set_composite<Tag>(f);
  set_sparse<Tag>(f);
}

// The same for compressed layouts; what has no function there goes to their layer (compressed_elements.cpp).
template <class Tag>
void set_compressed(typename OperatorFunctions<Tag>::Fn f) noexcept {
  OperatorFunctions<Tag>::set(DispatchKey::SparseCompressed, f);
}
template <class Tag>
void admit_compressed() noexcept {
  set_compressed<Tag>(&detail::AdmitTo<Tag, DispatchKey::SparseCompressed>::call);
}
template <class Tag>
void set_composite_of_all(typename OperatorFunctions<Tag>::Fn f) noexcept {
  set_composite_of_both<Tag>(f);
  set_compressed<Tag>(f);
}

}  // namespace torch
