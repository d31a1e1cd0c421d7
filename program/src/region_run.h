// The registers of a plan that runs.
#pragma once
#include <cstring>
#include <utility>

#include "region_plan.h"

namespace torch::program {

// The tensors of one run: inputs are the caller's, what is made is owned.
class RegionPlan::Registers {
 public:
  Registers(TensorImpl** memory, int count) : at_(memory), owned_(memory + count), count_(count) {
    std::memset(static_cast<void*>(memory), 0, sizeof(TensorImpl*) * 2 * size_t(count));
  }
  ~Registers() {
    for (int i = 0; i < count_; ++i) drop(i);
  }
  Registers(const Registers&) = delete;
  TensorImpl* operator[](int i) const noexcept { return at_[i]; }
  void borrow(int i, const Tensor& t) noexcept { at_[i] = t.get(); }
  void own(int i, Tensor t) noexcept { at_[i] = owned_[i] = t.release(); }
  void drop(int i) noexcept {
    if (owned_[i]) Tensor(Ref<TensorImpl>::steal(std::exchange(owned_[i], nullptr)));
  }
  Tensor share(int i) const noexcept { return Ref<TensorImpl>::share(at_[i]); }
  // For the last time: an output, which may be an input, or stand twice in the list.
  Tensor give(int i) noexcept {
    return owned_[i] ? Ref<TensorImpl>::steal(std::exchange(owned_[i], nullptr)) : Ref<TensorImpl>::share(at_[i]);
  }

 private:
  TensorImpl **at_, **owned_;
  int count_;
};

}  // namespace torch::program
