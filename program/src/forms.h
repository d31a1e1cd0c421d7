// The constants of a program in the forms that kernels have them in: packed once, not at each run. The core keeps them
// (core/src/storage/forms.h); one that cannot goes on as before.
//
// A constant counts where nobody but the program has its memory, as after `freeze`, which copies; and as long as no
// constant of the program is written to.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "torch/program/cell.h"

namespace torch {
class Forms;
}

namespace torch::program {

class ConstantForms {
 public:
  ConstantForms() = default;
  ~ConstantForms();
  ConstantForms(const ConstantForms&) = delete;

  // In force on this thread while it lives. The first run may be the only one: nothing is kept of it.
  class Use {
   public:
    Use(const ConstantForms& forms, const std::vector<Cell>& constants);
    ~Use();
    Use(const Use&) = delete;

   private:
    Forms* before_ = nullptr;
    bool is_in_force_ = false;
  };

 private:
  void find(const std::vector<Cell>& constants) const;
  bool are_unchanged() const noexcept;

  mutable std::atomic<int> runs_{0};
  mutable std::mutex mutex_;
  struct Seen {
    Tensor tensor;
    const void* data;
    uint32_t version;
  };
  mutable std::vector<Seen> seen_;
  mutable std::atomic<Forms*> forms_{nullptr};
};

}  // namespace torch::program
