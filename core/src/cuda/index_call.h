// An index call as the kernels see it: each element of one side beside the one of `self` that an index names.
#pragma once
#include "cuda/geometry.h"
#include "cuda/runtime.h"
#include "torch/core/dtype.h"

namespace torch::cuda {

enum class IndexKind : uint8_t { Take, Put, Add, Multiply, Max, Min };
struct IndexCall {
  const char* op;
  cudaStream_t stream;
  IndexKind kind;
  DType type;
  char *self, *other;
  const int64_t* index;
  int64_t step;       // bytes of self between two indices
  int64_t low, size;  // indices lie in [low, size); size < 0: they were looked at before
  int dim;            // for the sentence about one that does not
  uint32_t n;
  Geometry geometry;  // of self (without the index), of other, of index
  Fault* fault;
};
void launch_index(const IndexCall& call);
// All but Take in an order that is always the same (index_ordered.cu); index.cpp takes it when it was asked for.
void launch_index_in_order(const IndexCall& call, Device device);
void set_deterministic(bool on) noexcept;
bool is_deterministic() noexcept;

// The offset of an index that is out of range: what it names is left alone.
constexpr int64_t kNowhere = INT64_MIN;
// to[k] = index[k] * step, or += with `add`.
struct OffsetsCall {
  const char* op;
  cudaStream_t stream;
  int64_t* to;
  const void* index;
  bool wide;  // int64, else int32
  int64_t n, low, size, step;
  int dim;
  bool add;
  Fault* fault;
};
void launch_offsets(const OffsetsCall& call);

}  // namespace torch::cuda
