#include "torch/core/dlpack.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "storage/lending.h"
#include "torch/core/backend.h"
#include "torch/core/sparse.h"

namespace torch {

namespace {

DLDataType dlpack_type(DType t) {
  uint8_t code = t == DType::Bool       ? kDLBool
                 : is_complex(t)        ? kDLComplex
                 : t == DType::BFloat16 ? kDLBfloat
                 : is_floating(t)       ? kDLFloat
                 : is_signed(t)         ? kDLInt
                                        : kDLUInt;
  return {code, uint8_t(item_size(t) * 8), 1};
}

std::optional<DType> dtype_of_dlpack(DLDataType d) {
  for (int i = 0; i < kDTypes; ++i) {
    DLDataType have = dlpack_type(DType(i));
    if (have.code == d.code && have.bits == d.bits && d.lanes == 1) return DType(i);
  }
  return std::nullopt;
}

// What was lent. The tensor itself may change its shape or its memory meanwhile.
struct Exported {
  Storage* storage;
  std::vector<int64_t> sizes, strides;
  DLManagedTensor managed{};
  explicit Exported(const Tensor& t)
      : storage(t->storage),
        sizes(t.sizes().begin(), t.sizes().end()),
        strides(t.strides().begin(), t.strides().end()) {
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] < 2) strides[d] = 1;  // it may be anything, and some that take the memory look at it
    lend(storage);
  }
  ~Exported() { give_back(storage); }
};

struct Imported {
  DLManagedTensor* managed;
  DlpackRelease around;
};

}  // namespace

Tensor tensor_over(void* data, IntArrayRef sizes, IntArrayRef strides, DType dtype, void (*deleter)(Storage*) noexcept,
                   void* context, Device device) {
  Extent e = extent_of(sizes, strides);
  char* first = static_cast<char*>(data) + e.low * item_size(dtype);
  StorageRef storage =
      StorageRef::steal(Storage::adopt(first, size_t((e.high - e.low) * item_size(dtype)), deleter, context));
  Tensor r = Tensor(Ref<TensorImpl>::steal(TensorImpl::make()));
  r->set_ndim(int(sizes.size()));
  std::memcpy(r->sizes(), sizes.data(), sizes.size() * sizeof(int64_t));
  std::memcpy(r->strides(), strides.data(), sizes.size() * sizeof(int64_t));
  r->dtype = dtype;
  r->device = storage->device = full_device(device);
  r->keys = Keys(backend_key(device.type) | dtype_key(dtype));
  r->storage = storage.release();
  r->byte_offset = -e.low * item_size(dtype);
  r->refresh_geometry();
  return r;
}

DLManagedTensor* to_dlpack(const Tensor& t) {
  const bool is_cuda = t.device().type == DeviceType::CUDA;
  TORCH_CHECK(is_cuda || t.device().type == DeviceType::CPU,
              "to_dlpack: only tensors of the CPU and of CUDA can be exported, got one on ", t.device());
  TORCH_CHECK_IMPLEMENTED(!is_any_sparse(t),
                          "to_dlpack: a sparse tensor cannot be exported; convert it with to_dense() first");
  TORCH_CHECK_IMPLEMENTED(!is_stored(t.dtype()), "to_dlpack: elements of ", t.dtype(),
                          " are not exported; send view(torch.uint8), or convert with .to(", wide_of(t.dtype()), ")");
  TORCH_CHECK(t.has_memory(), "to_dlpack: ", t, " stands for many examples (vmap) and has no memory of its own");
  auto* e = new Exported(t);
  const DLDevice place = is_cuda ? DLDevice{kDLCUDA, t.device().index} : DLDevice{kDLCPU, 0};
  e->managed.dl_tensor = {t.data(),          place, int32_t(t.dim()), dlpack_type(t.dtype()), e->sizes.data(),
                          e->strides.data(), 0};
  e->managed.manager_ctx = e;
  e->managed.deleter = [](DLManagedTensor* m) { delete static_cast<Exported*>(m->manager_ctx); };
  return &e->managed;
}

Tensor from_dlpack(DLManagedTensor* managed, DlpackRelease around) {
  TORCH_CHECK_VALUE(managed, "from_dlpack: there is no tensor");
  const DLTensor& d = managed->dl_tensor;
  const bool is_cuda = d.device.device_type == kDLCUDA;
  TORCH_CHECK(is_cuda || d.device.device_type == kDLCPU || d.device.device_type == kDLCUDAHost,
              "from_dlpack: only memory of the CPU and of CUDA can be imported, got device type ",
              int(d.device.device_type));
  const Device place = is_cuda ? Device(DeviceType::CUDA, d.device.device_id) : Device();
  if (is_cuda) backend_of("from_dlpack", place);
  std::optional<DType> t = dtype_of_dlpack(d.dtype);
  TORCH_CHECK(t, "from_dlpack: no dtype for code ", int(d.dtype.code), " with ", int(d.dtype.bits), " bits and ",
              d.dtype.lanes, " lanes");
  TORCH_CHECK(d.ndim >= 0 && d.ndim <= kMaxDims, "from_dlpack: ", d.ndim, " dimensions are not supported");
  std::vector<int64_t> sizes(d.shape, d.shape + d.ndim);
  checked_numel("from_dlpack", sizes);
  std::vector<int64_t> strides =
      d.strides ? std::vector<int64_t>(d.strides, d.strides + d.ndim) : contiguous_strides(sizes);
  char* first = static_cast<char*>(d.data) + d.byte_offset;
  TORCH_CHECK(reinterpret_cast<uintptr_t>(first) % size_t(std::min<int64_t>(item_size(*t), 8)) == 0,
              "from_dlpack: the data is not aligned to its element size");
  auto release = [](Storage* s) noexcept {
    auto* in = static_cast<Imported*>(s->context);
    if (in->around)
      in->around(in->managed);
    else if (in->managed->deleter)
      in->managed->deleter(in->managed);
    delete in;
  };
  return tensor_over(first, sizes, strides, *t, release, new Imported{managed, around}, place);
}

}  // namespace torch
