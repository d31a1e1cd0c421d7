// How the iteration engine walks its operands: made in iterate.cpp, run in run.cpp.
#pragma once
#include "iterate/staging.h"

namespace torch::iteration {

constexpr int64_t kBlock = 1024;    // elements in a block, fewer for wide types
constexpr int64_t kPanelRows = 16;  // rows that are transposed at a time: one cache line of 4-byte elements
constexpr int kMaxPanels = 2;

enum class Mode : uint8_t {
  Direct,  // adjacent elements of the loop's type: its memory is passed
  Const,   // stride 0: a buffer is filled once
  Staged,  // gathered, scattered, converted
  Panel,   // adjacent along the next dimension: transposed some rows at a time
};

struct Operand {
  char* base;
  const int64_t* stride;  // bytes, innermost first
  DType type;             // as stored
  DType loop_type;        // as the loop wants it
  Mode mode;
  bool linear;       // the whole operand is adjacent elements in iteration order, of the loop's type
  ConvertPath path;  // input: stored to loop; output: loop to stored
};

struct Plan {
  const Kernel* kernel;
  int ndim, count;
  int64_t block;
  bool all_direct;
  int panels;
  int64_t size[kMaxDims];
  int64_t stride[kMaxOperands][kMaxDims];
  Operand op[kMaxOperands];
};

// Calls the kernel's loop over all elements, cut among threads.
void run(const Plan& plan);

// Whether a loop leaves elements as they are (copy.cpp).
bool only_moves(Loop loop) noexcept;

}  // namespace torch::iteration
