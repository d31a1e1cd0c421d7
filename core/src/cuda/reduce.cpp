// From tensors to launches of reductions: which dims are folded, by threads or by blocks, and in how many pieces. All
// of it follows from shapes and strides, so that results have the same bits every time.
#include <algorithm>

#include "cuda/allocator.h"
#include "cuda/layout.h"
#include "cuda/reduce_call.h"
#include "cuda/tables.h"
#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "ops/reduce/engine.h"

namespace torch::cuda {

namespace {

constexpr int64_t kMost = (int64_t(1) << 31) - 1;
constexpr int64_t kFull = 132 * 16;  // blocks that fill a large device

bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

// Memory between two kernels of a stream; it may be given out again as soon as they are launched.
class Scratch {
 public:
  Scratch(int64_t bytes, int device, cudaStream_t stream) : data_(allocate(size_t(bytes), device, stream)) {}
  ~Scratch() { release(data_); }
  Scratch(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
};

struct Split {
  Dims kept, reduced;
};
Split split_dims(const Tensor& self, const DimSet& dims, const Tensor* outs, int out_count) {
  Split s;
  const Tensor* all[] = {&self, outs, outs + out_count - 1};
  for (int64_t d = 0; d < self.dim(); ++d) {
    Dims& to = dims[d] ? s.reduced : s.kept;
    for (int k = 0; k < 3; ++k) to.stride[k][to.count] = all[k]->stride(d) * all[k]->item_size();
    to.add_dim(self.size(d));
  }
  s.kept.operands = 3;
  s.reduced.operands = 1;
  s.kept.simplify();
  s.reduced.simplify();
  return s;
}

int64_t pieces_of(const ReduceCall& c) {
  if (c.by_block) return std::clamp<int64_t>(c.n / 8192, 1, std::max<int64_t>(1, kFull / c.results));
  return std::clamp<int64_t>(c.n / 256, 1, std::max<int64_t>(1, kFull * kThreads / c.results));
}

void run(const ReduceJob& job, const Tensor& given, const DimSet& dims, const Tensor* outs, int out_count,
         const Ending& ending) {
  const int64_t size = acc_size(job.which, job.kernel);
  TORCH_CHECK_IMPLEMENTED(size > 0, ending.op, ": no kernel for ", given.dtype(), " tensors on ", given.device(),
                          "; move them with .to('cpu')");
  const DeviceGuard guard(given.device().index);
  Tensor self = given;
  const bool read_half = is_half(given.dtype()) && job.kernel == DType::Float32 && job.convert == DType::Float32;
  if (given.dtype() != job.convert && !read_half) self = preserving_copy(given, job.convert);
  Split s = split_dims(self, dims, outs, out_count);
  if (s.kept.count > kDims || s.reduced.count > kDims) {
    self = contiguous_copy(self);
    s = split_dims(self, dims, outs, out_count);
  }
  TORCH_CHECK_IMPLEMENTED(
      s.kept.numel() <= kMost && s.reduced.numel() <= kMost && s.kept.count <= kDims && s.reduced.count <= kDims,
      ending.op, ": no kernel for reductions of 2^31 elements on ", given.device());
  const int device = self.device().index;
  ReduceCall c{};
  c.op = ending.op;
  c.stream = current_stream(device).handle;
  c.which = job.which;
  c.kernel = job.kernel;
  c.in = self.data<char>();
  c.type = self.dtype();
  for (int k = 0; k < out_count; ++k) c.out[k] = outs[k].data<char>(), c.out_type[k] = outs[k].dtype();
  c.results = uint32_t(s.kept.numel());
  if (!c.results) return;
  c.n = uint32_t(s.reduced.numel());
  // Threads beside each other read elements beside each other.
  const int64_t along = s.reduced.count ? std::abs(s.reduced.stride[0][0]) : 0;
  const int64_t across = s.kept.count ? std::abs(s.kept.stride[0][0]) : kMost;
  c.by_block = c.n > 32 && along <= across;
  c.pieces = uint32_t(pieces_of(c));
  c.kept = s.kept.geometry();
  c.reduced = s.reduced.geometry();
  c.closing = {Closing::Kind(ending.kind), ending.number};
  if (c.pieces == 1) return launch_reduce(c);
  const Scratch acc(size * c.results * c.pieces, device, c.stream);
  c.acc = acc.data();
  launch_reduce(c);
}

static_assert(int(Ending::Root) == int(Closing::Root) && int(Ending::Variance) == int(Closing::Variance));

}  // namespace

void fill_reduce_table() {
  static constexpr ReduceWork reductions{.run = run};
  set_work(DeviceType::CUDA, &reductions);
}

}  // namespace torch::cuda
