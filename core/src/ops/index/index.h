// What the operators of the index family share on the host: index tensors made ready, checked before anything is
// written.
#pragma once
#include "iterate/dense.h"
#include "iterate/dims.h"
#include "iterate/iterate.h"
#include "iterate/staging.h"
#include "kernels/index.h"
#include "torch/core/operator.h"
#include "torch/core/pool.h"

namespace torch {

bool shares_memory(const Tensor& a, const Tensor& b) noexcept;

// Bytes from the start for each element of an index tensor into a dim; `low` is -size where negative ones count from
// the end, else 0. IndexError: "index 5 is out of bounds for dimension 0 with size 3".
Tensor offsets_of(const char* op, const Tensor& index, int64_t dim, int64_t size, int64_t low, int64_t stride_bytes);

// A bool or uint8 mask as one int64 tensor of positions per dim.
std::vector<Tensor> mask_positions(const Tensor& mask);

// Runs a block kernel over a tensor whose dims are (outer..., indexed, inner...) against a dense side, merging what can
// be merged. `shared` dims exist on both sides.
struct BlockSide {
  DimVector sizes, strided, dense;  // of dims before and after the indexed one; strides in bytes
};
// dense = strided, strided = dense, strided += dense; the others only along a dim.
enum class IndexMode : uint8_t { Take, Put, Add, Multiply, Max, Min };
void run_blocks(const char* op, IndexMode mode, DType dtype, char* strided, char* dense, const Tensor& offsets,
                int64_t dense_count, const BlockSide& before, const BlockSide& after);

// What a device does. The CPU raises what is out of range before anything is written; others when the host next waits,
// and leave its element alone.
struct IndexWork {
  // to[k] = index[k] * stride, or += with `add`; index[k] in [low, size), negative ones count from the end.
  void (*offsets)(const char* op, const Tensor& to, const Tensor& index, int64_t dim, int64_t low, int64_t size,
                  int64_t stride, bool add);
  // Before along(): whether indices lie in [0, size). Null where along() looks itself.
  void (*check)(const char* op, const Tensor& index, int64_t dim, int64_t size) = nullptr;
  void (*blocks)(const char* op, IndexMode mode, DType dtype, char* strided, char* dense, const Tensor& offsets,
                 int64_t dense_count, const BlockSide& before, const BlockSide& after);
  // Each element of `index`, dense int64, with that of `other` and the one of `self` that it names along dim (gather,
  // scatter).
  void (*along)(const char* op, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index,
                const Tensor& other);
};

// The CPU's: blocks.cpp, along.cpp.
extern const IndexWork index_on_cpu;
void check_on_cpu(const char* op, const Tensor& index, int64_t dim, int64_t size);
void along_on_cpu(const char* op, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor& other);
// What a plug-in does for masks. A mask of bytes, dense: the places that are not 0, in their order, as int64. Waits for
// their number.
struct MaskWork {
  Tensor (*positions)(const char* op, const Tensor& mask);
};

// What masks do on a device: the CPU has loops over chunks, other devices index by the places that MaskWork finds.
// Masks are dense, of one byte an element.
struct Masking {
  Tensor (*select)(const Tensor& x, const Tensor& mask);  // both dense and of one shape
  // self where the mask is not 0 = the first elements of values (dense); check(how many) before anything is written.
  void (*scatter)(const Tensor& self, const Tensor& mask, const Tensor& values, FunctionRef<void(int64_t)> check);
  Tensor (*rows)(const Tensor& mask);                  // coordinates as (places, dims)
  std::vector<Tensor> (*columns)(const Tensor& mask);  // one tensor for each dim
};
extern const Masking masking_on_cpu, masking_by_places;

// What counting does on a device: loops of the CPU, or operators.
struct Counting {
  // The smallest and the largest of contiguous int64 numbers, of which there are some. Waits on other devices.
  std::pair<int64_t, int64_t> (*ends)(const Tensor& x);
  // out (x's shape, classes) = 1 at the class that x names, from zeros
  Tensor (*mark)(const Tensor& out, const Tensor& x);
  // How often each number below `size` is in x (int64), or the sum of its weights (float64).
  Tensor (*count)(const Tensor& x, const Tensor& weights, int64_t size);
};
extern const Counting counting_on_cpu, counting_by_operators;

// The dims [from, to) of two tensors as one side of a block loop.
BlockSide block_side(const Tensor& strided, const Tensor& dense, int64_t from, int64_t to);

void register_index_select();
void register_index_tensors();
void register_index_scatter();
void register_index_mask();
void register_index_search();

}  // namespace torch
