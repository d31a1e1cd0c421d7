// The loops beneath element-wise operators, for who runs several of them over one block of memory.
//
// A kernel is one loop over contiguous blocks of fixed element types; iterate() brings operands of any shape, strides
// and dtype into that form. A Watch sees the kernels that operators of its thread run, which says what an operator
// does without a word about it:
//
//   Watch watch(note, &notes);
//   row.invoke(arguments, result);   // note(&notes, kernel, operands): a loop, its types, numbers, and tensors
//
// Operators on small contiguous tensors call their loop directly, past every watch: give it transposed ones.
#pragma once
#include <atomic>

#include "torch/core/tensor.h"

namespace torch {

// data[0] (and those of further outputs) is written, the others are read; each holds n elements without gaps.
// An output may be the very memory of an input.
using Loop = void (*)(char* const* data, int64_t n, const void* scalars);

constexpr int kMaxOperands = 16;

struct Kernel {
  Loop loop;
  int outputs;                // at least 1
  int inputs;                 // 0 or more
  DType types[kMaxOperands];  // what the loop reads and writes: outputs, then inputs
  const void* scalars = nullptr;
  int scalar_bytes = -1;  // of `scalars`, when they are plain numbers; -1: who copies the kernel cannot keep them
  int64_t grain = 32768;  // elements worth a thread
};

// Runs the kernel over outputs and inputs (in the order of `types`). Outputs have one common shape, to which inputs
// broadcast; all are on the CPU, and NotImplementedError says so when one is not. What the operands may share is the
// caller's to check (check_overlap).
TORCH_API void iterate(const Kernel& kernel, TensorImpl* const* operands);

class Watch {
 public:
  using Seen = void (*)(void* to, const Kernel& kernel, TensorImpl* const* operands);
  TORCH_API Watch(Seen seen, void* to);
  TORCH_API ~Watch();
  Watch(const Watch&) = delete;
};
extern TORCH_API std::atomic<int> watches;  // how many there are, of all threads

// The steps from one dtype to another: at most four loops, through `gives[0]`, ... ; none for equal types.
struct ConvertPath {
  int count;
  Loop step[4];
  DType gives[4];  // the dtype after each step
};
TORCH_API ConvertPath convert_path(DType from, DType to) noexcept;

constexpr int64_t kBufferBytes = 8192;  // of one operand's block: all of them stay in the first cache
// Runs n elements from `data` through a path, to `out`; `step` has room for each stage in between.
TORCH_API void convert_block(const ConvertPath& path, char* out, const char* data, int64_t n,
                             char (*step)[kBufferBytes]);

}  // namespace torch
