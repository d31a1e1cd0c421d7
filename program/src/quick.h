// The steps of a program that need no operator: arithmetic, branches, loops, moves and small primitives, as words of a
// few bytes that lie one behind the other. A loop over ints is many such steps, and going through Step, whose operands
// are elsewhere, takes longer than what each computes. Cells keep their tags, so that a program whose types say
// something else than its values raises as it would step by step.
#pragma once
#include <cstdint>
#include <vector>

#include "torch/program/cell.h"

namespace torch::program {

struct Step;

class QuickCode {
 public:
  QuickCode() = default;
  QuickCode(const std::vector<Step>& steps, const std::vector<Cell>& constants);

  // Whether a step is of those that are done here.
  bool takes(size_t step) const noexcept;
  // From `at` up to a step that is not done here, which it gives. What raises leaves `at` at the step that did.
  void run(Cell* registers, const Step*& at) const;

 private:
  enum class What : uint8_t;
  struct Word {
    What what;
    int32_t a, b, out, target, step;
  };

  void add(What what, int32_t a, int32_t b, int32_t out, int32_t target, size_t step);
  static bool jumps(What what);
  void call(Cell* registers, const Step& s) const;
  bool is_one(int32_t operand) const;
  void encode(const Step& s, size_t number, const Step* next);

  const Step* steps_ = nullptr;
  std::vector<Word> words_;
  std::vector<int32_t> entries_;  // of each step
  std::vector<Cell> constants_;   // the last one first: a negative operand counts from the end
};

}  // namespace torch::program
