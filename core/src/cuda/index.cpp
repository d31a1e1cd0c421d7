// From the tables of the index family (ops/index/index.h) to launches.
#include "ops/index/index.h"

#include <atomic>

#include "cuda/index_call.h"
#include "cuda/layout.h"
#include "cuda/tables.h"
#include "dispatch/work.h"
#include "torch/core/stored.h"

namespace torch::cuda {

namespace {

std::atomic<bool> deterministic = false;
constexpr int64_t kMost = (int64_t(1) << 31) - 1;

void launch_all(IndexCall call, Dims& dims, Device device) {
  dims.simplify(1);  // rows that an index names are gone through by rows
  TORCH_CHECK_IMPLEMENTED(dims.count <= kDims && dims.numel() <= kMost && !is_stored(call.type), call.op,
                          ": no kernel for this shape or dtype on ", device, "; move the tensors with .to('cpu')");
  call.n = uint32_t(dims.numel());
  if (call.n == 0) return;
  call.geometry = dims.geometry();
  const DeviceGuard guard(device.index);
  call.stream = current_stream(device.index).handle;
  call.fault = fault_record(device.index);
  // Sixteen bytes have no atomic product.
  const bool ordered = call.kind == IndexKind::Multiply && call.type == DType::Complex128;
  if (call.kind != IndexKind::Take && (ordered || is_deterministic()))
    launch_index_in_order(call, device);
  else
    launch_index(call);
}
static_assert(int(IndexKind::Add) == int(IndexMode::Add) && int(IndexKind::Min) == int(IndexMode::Min));
IndexKind kind_of(IndexMode mode) { return IndexKind(mode); }

void offsets(const char* op, const Tensor& to, const Tensor& index, int64_t dim, int64_t low, int64_t size,
             int64_t stride, bool add) {
  if (index.numel() == 0) return;
  const int device = index.device().index;
  const DeviceGuard guard(device);
  const Tensor source = index.is_contiguous() ? index : contiguous_copy(index);
  launch_offsets({op, current_stream(device).handle, to.data<int64_t>(), source.data(), source.dtype() == DType::Int64,
                  source.numel(), low, size, stride, int(dim), add, fault_record(device)});
}

void blocks(const char* op, IndexMode mode, DType dtype, char* strided, char* dense, const Tensor& offsets,
            int64_t dense_count, const BlockSide& before, const BlockSide& after) {
  Dims dims;
  dims.operands = 3;
  auto add = [&](int64_t size, int64_t self, int64_t other, int64_t index) {
    const int64_t strides[] = {self, other, index};
    for (int k = 0; k < 3; ++k) dims.stride[k][dims.count] = strides[k];
    dims.add_dim(size);
  };
  auto add_side = [&](const BlockSide& side) {
    for (int i = 0; i < side.sizes.size(); ++i) add(side.sizes[i], side.strided[i], side.dense[i], 0);
  };
  add_side(before);
  add(offsets.numel(), 0, dense_count, 8);
  add_side(after);
  IndexCall call{};
  call.op = op;
  call.kind = kind_of(mode);
  call.type = dtype;
  call.self = strided;
  call.other = dense;
  call.index = offsets.data<int64_t>();
  call.step = 1;
  call.size = -1;
  launch_all(call, dims, offsets.device());
}

void along(const char* op, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other) {
  Dims dims;
  dims.operands = 3;
  const int64_t item = self.item_size();
  for (int64_t d = 0; d < index.dim(); ++d) {
    const int64_t strides[] = {d == dim ? 0 : self.stride(d) * item, other.stride(d) * item, index.stride(d) * 8};
    for (int k = 0; k < 3; ++k) dims.stride[k][dims.count] = strides[k];
    dims.add_dim(index.size(d));
  }
  IndexCall call{};
  call.op = op;
  call.kind = kind_of(mode);
  call.type = self.dtype();
  call.self = self.data<char>();
  call.other = other.data<char>();
  call.index = index.data<int64_t>();
  call.step = self.stride(dim) * item;
  call.size = self.size(dim);
  call.dim = int(dim);
  launch_all(call, dims, self.device());
}

}  // namespace

void set_deterministic(bool on) noexcept { deterministic = on; }
bool is_deterministic() noexcept { return deterministic; }

void fill_index_table() {
  static constexpr IndexWork indexing{.offsets = offsets, .blocks = blocks, .along = along};
  set_work(DeviceType::CUDA, &indexing);
}

}  // namespace torch::cuda
