// The places of a mask's elements that are not 0: the running count says where each goes.
#include "cuda/scan.h"
#include "cuda/tables.h"
#include "iterate/iterate.h"
#include "ops/index/index.h"

namespace torch::cuda {

namespace {

struct Places {
  using Acc = int64_t;
  const uint8_t* mask;
  int64_t* out;
  TORCH_VEC_INLINE static Acc identity() { return 0; }
  TORCH_VEC_INLINE static Acc merge(Acc a, Acc b) { return a + b; }
  TORCH_VEC_INLINE Acc load(int64_t at, int64_t) const { return mask[at] != 0; }
  TORCH_VEC_INLINE void emit(int64_t at, int64_t, Acc run) const {
    if (mask[at]) out[run - 1] = at;
  }
};

Tensor positions(const char* op, const Tensor& mask) {
  const Device device = mask.device();
  const int64_t n = mask.numel();
  if (n == 0) return empty_tensor({0}, DType::Int64, device);
  const DeviceGuard guard(device.index);
  const cudaStream_t stream = current_stream(device.index).handle;
  const Cuts c = cut(1, n, 1);
  const Room room((c.pieces + 1) * 8, stream);
  int64_t *const before = room.as<int64_t>(), *const total = before + c.pieces;
  Places f{mask.data<uint8_t>(), nullptr};
  launch(op, fold_pieces<Places>, blocks_of(c.pieces), kThreads, 0, stream, f, c, before);
  launch(op, run_over_pieces<Places>, 1, kThreads, 0, stream, c, before, total);
  int64_t count = 0;
  on_device::read_scalar(op, &count, total, sizeof count, device);
  const Tensor out = empty_tensor({count}, DType::Int64, device);
  f.out = out.data<int64_t>();
  if (count) launch(op, emit_pieces<Places>, blocks_of(c.pieces), kThreads, 0, stream, f, c, before);
  return out;
}

}  // namespace

const MaskWork masks = {positions};

}  // namespace torch::cuda
