// A group of element-wise calls behind a product, a convolution or a norm, done by the kernel of that call while what
// it makes still lies in a near cache (core/src/storage/epilogue.h):
//
//   relu(conv2d(x, w, b) + r)      conv2d ── a few rows of all channels are done ─► add, relu over them, in place
//
// Which calls hand out what they write is seen when they are made for the first time; no operator is known by name.
// What the group does is what it does as a step of its own, with the same loops and the same bits.
#pragma once
#include <atomic>

#include "region_plan.h"

namespace torch::program {

class Epilogue {
 public:
  // While it lives, sees whether a call hands every element of its result to an epilogue, once.
  class Probe {
   public:
    Probe() noexcept;
    ~Probe();
    Probe(const Probe&) = delete;
    bool is_taken_for(const Tensor& result) noexcept;

   private:
    std::atomic<int64_t> elements_{0};
    bool is_on_ = false;
  };

  // Puts groups into the calls before them. `cells`: what each value was when the region ran.
  static void find(RegionPlan& plan, const std::vector<Cell>& cells);

  // The call of a step and this behind it; false when something is not as planned.
  bool run(const RegionPlan::Step& s, RegionPlan::Registers& registers) const;
  std::string describe() const;

 private:
  using Step = RegionPlan::Step;
  using Along = TileValue::Along;
  class Finder;
  struct Operand {
    int value;
    Along along;
    int64_t bytes;     // of an element
    int64_t period;    // of one that has a number for each row: how many there are
    int64_t distance;  // from where its tensor begins, in bytes
  };
  struct Running;
  static void run_rows(void* to, void* out, int64_t first, int64_t rows, int64_t step, int64_t count);
  void run_by_rows(char* const* data, int64_t first, int64_t count) const;

  std::unique_ptr<const Tiles> tiles_;
  std::vector<Operand> operands_;  // outputs first
  std::vector<Geometry> outputs_;
  Geometry made_;  // by the call
  int made_value_ = -1;
  int in_place_ = -1;     // the output that lies where the call writes
  bool is_kept_ = false;  // what the call makes is read elsewhere
  int64_t elements_ = 0;
  int64_t length_ = 0;  // of rows, where an operand is not the same all along them; else 0
};

}  // namespace torch::program
