// Several of the core's loops, one after the other over a tile of elements that stays in the first cache: what a group
// of element-wise operators becomes. A value within the group has no memory but a tile's.
//
//   (x * w + b).tanh()          x ──┐
//                               w ──┤ mul ─ t0 ─┐
//                               b ──────────────┤ add ─ t0 ─ tanh ─► out
//
// The group is itself a Loop, so that the iteration engine (torch/core/loops.h) brings operands into form and divides
// the work, as for any operator: the bits are those of the operators one by one.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fused.h"
#include "torch/core/loops.h"

namespace torch::program {

// A loop and the values of the group that it writes and reads.
struct TileCall {
  static constexpr int kOperands = 8;
  Loop loop;
  int outputs, inputs;
  DType types[kOperands];  // as the loop has them
  int values[kOperands];   // numbers of values, outputs first
  std::vector<char> scalars;
  bool heavy = false;
  std::string_view op = {};  // the operator that consists of only this loop

  bool operator==(const TileCall&) const;
};

struct TileValue {
  enum class Role : uint8_t { Input, Number, Made };
  // What an Input is to a walk over rows: as many elements as the result, a number for each row, a row for all of them,
  // a number for all.
  enum class Along : uint8_t { All, Rows, Columns, Nothing };
  DType type;  // as stored: what a loop gives in another type is converted, as a tensor in between would be
  Role role;
  bool is_output = false;
  alignas(16) char number[16] = {};  // of a Number
  Along along = Along::All;
};

class Tiles {
 public:
  // Operands of the kernel are the outputs, then the inputs, each in the order of `values`.
  // `columns`: not the iteration engine walks over the elements, but run_rows, which needs no block filled with a row's
  // number: layer norm composed, 1000 x 1000, 988 -> 466 us, softmax 1184 -> 957 (one thread of an AMD EPYC, Zen 3).
  // Where a loop would need one nevertheless, columns() is 0, and this cannot run.
  Tiles(const std::vector<TileValue>& values, const std::vector<TileCall>& calls, int64_t columns = 0);

  int64_t columns() const noexcept { return columns_; }
  void run_rows(TensorImpl* const* operands) const;
  // Over n elements of operands that are as the kernel has them.
  void run(char* const* data, int64_t n) const { run(data, n, this); }
  // The same `rows` times: from one to the next operand k lies steps[k] bytes further.
  void run_each(char** data, int64_t n, int64_t rows, const int64_t* steps) const;
  // From a row of operand k to the next, in bytes.
  int64_t row_step(size_t k) const noexcept { return row_steps_[k]; }
  Kernel kernel() const noexcept { return kernel_; }
  size_t steps() const noexcept { return steps_.size(); }
  size_t fused() const noexcept { return fused_.size(); }  // of these, runs of loops in one
  size_t temporaries() const noexcept { return size_t(temporaries_); }
  int64_t tile() const noexcept { return tile_; }

 private:
  class Builder;
  struct Step {
    Loop loop;
    int32_t operands;  // how many
    int32_t scalars;   // offset into scalars_
    uint8_t at[kMaxOperands];
  };
  struct Aligned {
    void operator()(char* p) const noexcept { ::operator delete(p, std::align_val_t(64)); }
  };
  static void run(char* const* data, int64_t n, const void* self);
  // The same where is_one_fused_: of a constant it reads one number. Layer norm from its formula, 1000 x 1000: 312 ->
  // 284 us, softmax 495 -> 471 (one thread of an AMD EPYC, Zen 4).
  void run_fused(char* const* data, int64_t n) const;

  Kernel kernel_{};
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<FusedLoop>> fused_;
  std::vector<char> scalars_;
  std::vector<int64_t> widths_;               // of the operands
  std::unique_ptr<char, Aligned> constants_;  // tiles full of one number
  int constant_count_ = 0, temporaries_ = 0;
  int64_t tile_ = 0, columns_ = 0;
  bool is_one_fused_ = false;       // loop, which keeps nothing in tiles
  std::vector<int64_t> row_steps_;  // of the operands, in bytes
};

}  // namespace torch::program
