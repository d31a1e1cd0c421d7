// The arguments of a call, owned. A Value borrows from its caller; what a layer writes down for later is a Kept:
//
//   calls.push_back({&row, Kept(row.schema, arguments)});                    // while it happens
//   for (auto& [row, kept] : calls) row->invoke(kept.values(), result);      // again
#pragma once
#include <vector>

#include "torch/core/row.h"

namespace torch {

class Kept {
 public:
  // Tensors are shared, lists and texts are copied. Generators live as long as whoever made them lets them.
  TORCH_API Kept(const Schema& schema, const Value* arguments);
  Kept(Kept&&) noexcept = default;
  Kept& operator=(Kept&&) noexcept = default;
  Kept(const Kept&) = delete;

  const Value* values() const noexcept { return values_.data(); }  // while this lives and is not changed
  int count() const noexcept { return int(values_.size()); }

  // Calls f(tensor) for each tensor, those in lists too; f may change it: Tensor& f.
  template <class F>
  void for_each_tensor(F f) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!tensors_[i]) continue;
      f(tensors_[i]);
      values_[i].tensor = tensors_[i].get();
    }
    for (std::vector<Tensor>& list : lists_)
      for (Tensor& t : list)
        if (t) f(t);
  }

 private:
  std::vector<Value> values_;    // point into what follows, whose memory stays when a Kept moves
  std::vector<Tensor> tensors_;  // by parameter
  std::vector<std::vector<Tensor>> lists_;
  std::vector<std::vector<int64_t>> ints_;
  std::vector<std::vector<char>> texts_;
};

}  // namespace torch
