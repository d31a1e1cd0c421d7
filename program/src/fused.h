// Runs of arithmetic within a group as machine code: values stay in registers from one loop to the next, where loops
// over a tile (tiles.h) would write each to the first cache and read it again.
//
//   (a * b + c - a).relu()      vmulps  ymm2, ymm0, ymm1      one pass of one loop,
//                               vaddps  ymm2, ymm2, ymm3      8 floats at a time
//                               vsubps  ymm2, ymm2, ymm0
//                               vcmpleps ... vandnps ...
//
// The few formulas that it knows are single instructions, or two or three. Each is compiled by itself first and
// compared with the core's loop, to the bit: a loop that computes anything else stays a loop. On other processors than
// x86 with AVX, and where a system gives no executable memory, all do. Registers are as wide as those of the kernels.
// What a comparison gives stays in registers, for a choice (where) or a conversion to numbers behind it.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "torch/core/loops.h"

namespace torch::program {

// A loop of a group, over numbered registers of tiles.
struct FusedStep {
  int formula;          // fusible()
  std::vector<int> at;  // registers: the result, then the operands
  const char* scalars;
};

// The formula of a loop that an operator of this name ran, by itself, over an output and `inputs` operands of these
// types, and the type in which it computes.
struct Fusible {
  int formula;
  DType type;
};
std::optional<Fusible> fusible(std::string_view name, Loop loop, const DType* types, int inputs, const char* scalars);

// Whether computing it costs no more than reading and writing a number in the first cache.
bool is_cheap(int formula) noexcept;

// Pages that hold one loop. Its operands are `registers`, in that order.
class FusedLoop {
 public:
  // Null where the steps need more registers than there are. `keeps`: of each step, whether its result is written.
  // `is_everywhere`: registers of which only the first number is read, and stands for all.
  static std::unique_ptr<FusedLoop> make(const std::vector<FusedStep>& steps, const std::vector<bool>& keeps,
                                         const std::vector<bool>& is_everywhere, DType type);
  ~FusedLoop();
  FusedLoop(const FusedLoop&) = delete;

  Loop loop() const noexcept { return loop_; }
  const std::vector<int>& registers() const noexcept { return registers_; }

 private:
  FusedLoop() = default;
  Loop loop_ = nullptr;
  void* pages_ = nullptr;
  size_t bytes_ = 0;
  std::vector<int> registers_;
};

}  // namespace torch::program
