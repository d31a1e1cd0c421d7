#include "torch/core/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "dispatch/destination.h"
#include "iterate/strides.h"
#include "storage/poison.h"
#include "tensor/order.h"
#include "torch/core/backend.h"
#include "torch/core/reads.h"
#include "torch/core/thread_end.h"
#include "torch/core/wrapper.h"

namespace torch {

namespace {

// Headers of dead tensors, kept per thread.
constexpr int kHeld = 1024;
struct Headers {
  int count = 0;
  TensorImpl* held[kHeld];
};
thread_local Headers* headers = nullptr;
thread_local bool headers_closed = false;
void close_headers() noexcept {
  Headers* h = std::exchange(headers, nullptr);
  headers_closed = true;
  for (int i = 0; i < h->count; ++i) std::free(h->held[i]);
  delete h;
}
TORCH_NOINLINE TensorImpl* fresh_header() {
  if (!headers && !headers_closed) {
    headers = new Headers;
    at_thread_end(close_headers);
  }
  void* memory = std::aligned_alloc(64, (sizeof(TensorImpl) + 63) / 64 * 64);
  if (!memory) throw_error(ErrorKind::OutOfMemory, "not enough memory for a tensor's header");
  static_cast<TensorImpl*>(memory)->owns_pyobj = false;  // as it is at the end of every tensor
  return static_cast<TensorImpl*>(memory);
}

TORCH_INLINE TensorImpl* take_header() {
  Headers* h = headers;
  TensorImpl* t = TORCH_LIKELY(h && h->count > 0) ? h->held[--h->count] : fresh_header();
  unpoison(t, sizeof(TensorImpl));
  t->refs.store(1, std::memory_order_relaxed);
  t->autograd = nullptr;
  t->base = nullptr;
  t->own_version = nullptr;
  t->payload = nullptr;
  t->pyobj = nullptr;
  t->output_nr = 0;
  t->graph_version = 0;
  t->device = {};
  return t;
}

void drop_storage(Storage* s) noexcept {
  if (s && s->drop()) Storage::destroy(s);
}

// Sizes and row-major strides. `room` is what the elements would take if no size were 0, so that sums and products of
// an empty tensor's strides hold as those of any other; false when a size is negative or the product overflows.
TORCH_INLINE bool set_contiguous(TensorImpl* t, const int64_t* sizes, int ndim, int64_t* room) noexcept {
  int64_t *sz = t->sizes(), *st = t->strides();
  int64_t stride = 1;
  bool bad = false, empty = false;
  for (int i = ndim - 1; i >= 0; --i) {
    sz[i] = sizes[i];
    st[i] = stride;
    empty |= sizes[i] == 0;
    bad |= sizes[i] < 0 || __builtin_mul_overflow(stride, sizes[i] + (sizes[i] == 0), &stride);
  }
  t->numel = empty ? 0 : stride;
  *room = stride;
  return !bad;
}

}  // namespace

void (*release_pyobj)(TensorImpl*) noexcept = nullptr;
Tensor (*values_behind)(const Tensor&) = nullptr;
Tensor (*value_behind)(const Tensor&) = nullptr;

bool lies_in_memory(const Tensor& t) {
  if (TORCH_LIKELY(t.has_memory())) return true;
  if (t->payload->kind != Payload::Kind::Wrapped || !values_behind) return false;
  const Tensor within = values_behind(t);
  return within.has_memory() && within->storage == t->storage;
}

std::atomic<ValueWatcher> value_watcher{nullptr};
std::atomic<PlaceWatcher> place_watcher{nullptr};

Tensor readable(const Tensor& t) {
  if (lies_in_memory(t)) return t;
  return t->payload->kind == Payload::Kind::Wrapped && value_behind ? value_behind(t) : Tensor();
}

Tensor values_to_read(const char* op, const Tensor& t) {
  Tensor values = readable(t);
  TORCH_CHECK(values, "vmap: ", op, " depends on the values of ", t,
              ", which stands for many examples, and can go only one way for all of them");
  return values;
}

void check_change_of_inference(const Tensor& t) {
  TORCH_CHECK(inference_flag, "Inplace update to inference tensor outside InferenceMode is not allowed. The tensor is ",
              t, ", made inside torch.inference_mode(): clone() it to get a normal tensor, or change it in that mode");
}

TensorImpl* TensorImpl::make() {
  TensorImpl* t = take_header();
  t->keys = key(DispatchKey::CPU);
  t->dtype = DType::Float32;
  t->ndim = 0;
  t->byte_offset = 0;
  t->numel = 1;
  t->storage = nullptr;
  t->flags = uint8_t(kContiguous | inference_flag);
  return t;
}

void TensorImpl::destroy(TensorImpl* t) noexcept {
  if (TORCH_UNLIKELY(t->owns_pyobj | (t->autograd != nullptr))) {
    if (t->owns_pyobj && !(t->autograd && t->autograd->keeps_tensor())) return release_pyobj(t);
    if (t->autograd->let_go(t)) return;
  }
  if (TORCH_UNLIKELY(t->base != nullptr))
    Tensor::steal(t->base).reset();  // a base is never a view itself: no recursion
  if (TORCH_UNLIKELY(t->own_version != nullptr)) Ref<VersionCounter>::steal(t->own_version).reset();
  if (TORCH_UNLIKELY(t->payload != nullptr)) Ref<Payload>::steal(t->payload).reset();
  drop_storage(t->storage);
  if (TORCH_UNLIKELY(t->ndim > kInlineDims)) std::free(t->heap_dims);
  Headers* h = headers;
  if (TORCH_LIKELY(h && h->count < kHeld)) {
    h->held[h->count++] = t;
    poison(t, sizeof(TensorImpl));
    return;
  }
  std::free(t);
}

void TensorImpl::set_ndim(int n) {
  TORCH_CHECK(n <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", n);
  if (n > kInlineDims) {
    auto* dims = static_cast<int64_t*>(std::malloc(2 * sizeof(int64_t) * size_t(n)));
    if (!dims) throw_error(ErrorKind::OutOfMemory, "not enough memory for a tensor's header");
    if (ndim > kInlineDims) std::free(heap_dims);
    heap_dims = dims;
  } else if (ndim > kInlineDims) {
    std::free(heap_dims);
  }
  ndim = uint8_t(n);
}

void TensorImpl::refresh_geometry() noexcept {
  int64_t *sz = sizes(), *st = strides(), n = 1;
  bool dense = true;
  for (int i = ndim - 1; i >= 0; --i) {
    dense &= sz[i] == 1 || st[i] == n;
    n *= sz[i];
  }
  numel = n;
  flags = uint8_t((flags & ~kContiguous) | (dense || n == 0 ? kContiguous : 0));
}

int64_t checked_numel(const char* op, IntArrayRef sizes) {
  int64_t room = 1;
  bool overflow = false, empty = false;
  for (int64_t s : sizes) {
    TORCH_CHECK(s >= 0, op, ": sizes must not be negative, got ", sizes);
    empty |= s == 0;
    overflow |= __builtin_mul_overflow(room, s + (s == 0), &room);
  }
  TORCH_CHECK(!overflow, op, ": the number of elements of ", sizes, " does not fit into 64 bits",
              empty ? ", were none of the sizes 0" : "");
  return empty ? 0 : room;
}

Tensor empty_tensor(IntArrayRef sizes, DType dtype, Device device) {
  if (TORCH_UNLIKELY(Destination::is_set()))
    if (Tensor t = Destination::take(sizes, dtype, device)) return t;
  TensorImpl* t = take_header();
  t->ndim = 0;
  t->storage = nullptr;
  t->keys = Keys(backend_key(device.type) | dtype_key(dtype));
  t->dtype = dtype;
  t->flags = uint8_t(TensorImpl::kContiguous | inference_flag);
  if (TORCH_UNLIKELY(device.type != DeviceType::CPU)) t->device = full_device(device);
  Tensor result = Tensor::steal(t);
  int ndim = int(sizes.size());
  if (TORCH_UNLIKELY(ndim > kInlineDims))
    t->set_ndim(ndim);
  else
    t->ndim = uint8_t(ndim);
  int64_t room;
  if (TORCH_UNLIKELY(!set_contiguous(t, sizes.data(), ndim, &room) ||
                     __builtin_mul_overflow(room, torch::item_size(dtype), &room))) {
    checked_numel("empty", sizes);
    throw_error(ErrorKind::Runtime,
                message("empty: ", sizes, " elements of ", dtype, " do not fit into 64 bits of bytes"));
  }
  t->storage = Storage::make(t->numel ? size_t(room) : 0, device);
  t->byte_offset = 0;
  return result;
}

Tensor empty_like_tensor(const Tensor& like, DType dtype) {
  Tensor r = empty_tensor(like.sizes(), dtype, like.device());
  keep_order(r, like);
  return r;
}

// Keeps the order of dims in memory (transposed, channels-last), and closes what gaps there are.
void keep_order(const Tensor& fresh, const Tensor& like) {
  if (like.is_contiguous() || like.dim() < 2) return;
  int order[kMaxDims], n = int(like.dim());
  for (int i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order, order + n, [&](int a, int b) { return like.stride(a) > like.stride(b); });
  int64_t expected = 1;
  for (int i = n - 1; i >= 0; --i) {
    int d = order[i];
    if (like.size(d) != 1 && like.stride(d) < expected) return;  // broadcast or overlapping: contiguous
    expected = like.size(d) != 1 ? like.size(d) * like.stride(d) : expected;
  }
  expected = 1;
  for (int i = n - 1; i >= 0; --i) {
    fresh->strides()[order[i]] = expected;
    expected *= like.size(order[i]);
  }
  fresh->refresh_geometry();
}

Tensor scalar_tensor_of(const Scalar& value, DType dtype, bool wrapped) {
  Tensor r = empty_tensor({}, dtype);
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    *r.data<T>() = value.to<T>();
  });
  if (wrapped) r->flags |= TensorImpl::kWrappedNumber;
  return r;
}

Tensor view_of(const Tensor& self, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  TensorImpl *s = self.get(), *t = take_header();
  t->keys = s->keys & kBackendKeys;
  t->dtype = s->dtype;
  t->ndim = 0;
  t->flags = s->flags & TensorImpl::kInference;
  t->device = s->device;
  t->storage = s->storage;
  t->storage->retain();
  if (TORCH_UNLIKELY(s->own_version != nullptr)) {
    s->own_version->retain();
    t->own_version = s->own_version;
  }
  t->base = s->base ? s->base : s;
  t->base->retain();
  t->graph_version = t->version().load(std::memory_order_relaxed);
  Tensor result = Tensor::steal(t);
  int ndim = int(sizes.size());
  if (TORCH_UNLIKELY(ndim > kInlineDims))
    t->set_ndim(ndim);
  else
    t->ndim = uint8_t(ndim);
  std::memcpy(t->sizes(), sizes.data(), size_t(ndim) * sizeof(int64_t));
  std::memcpy(t->strides(), strides.data(), size_t(ndim) * sizeof(int64_t));
  t->byte_offset = offset * torch::item_size(s->dtype);
  t->refresh_geometry();
  return result;
}

Tensor alias_of(const Tensor& self, bool share_version) {
  TensorImpl *s = self.get(), *t = take_header();
  t->keys = s->keys & kBackendKeys;
  t->dtype = s->dtype;
  t->ndim = 0;
  t->flags = s->flags & (TensorImpl::kContiguous | TensorImpl::kInference);
  t->device = s->device;
  t->byte_offset = s->byte_offset;
  t->numel = s->numel;
  t->storage = s->storage;
  t->storage->retain();
  t->payload = s->payload;
  if (TORCH_UNLIKELY(t->payload != nullptr)) t->payload->retain();
  Tensor result = Tensor::steal(t);
  if (!share_version) {
    t->own_version = new VersionCounter;
  } else if (TORCH_UNLIKELY(s->own_version != nullptr)) {
    s->own_version->retain();
    t->own_version = s->own_version;
  }
  t->graph_version = t->version().load(std::memory_order_relaxed);
  if (TORCH_UNLIKELY(s->ndim > kInlineDims)) {
    t->set_ndim(s->ndim);
    std::memcpy(t->heap_dims, s->heap_dims, 2 * s->ndim * sizeof(int64_t));
  } else {
    t->ndim = s->ndim;
    std::memcpy(t->inline_dims, s->inline_dims, sizeof t->inline_dims);  // a copy of known size: 30 ns less
  }
  return result;
}

Extent extent_of(IntArrayRef sizes, IntArrayRef strides) noexcept {
  Extent e{0, 1};
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return {0, 0};
    (strides[i] < 0 ? e.low : e.high) += (sizes[i] - 1) * strides[i];
  }
  return e;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  int64_t n = std::max<int64_t>(ndim, 1);
  TORCH_CHECK_INDEX(dim >= -n && dim < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                    "], but got ", dim, ")");
  return dim < 0 ? dim + n : dim;
}

std::vector<int64_t> contiguous_strides(IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = next_stride(stride, sizes[i]);
  }
  return strides;
}

std::vector<int64_t> broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b) {
  size_t n = std::max(a.size(), b.size());
  std::vector<int64_t> out(n);
  for (size_t i = 0; i < n; ++i) {
    int64_t x = i < n - a.size() ? 1 : a[i - (n - a.size())], y = i < n - b.size() ? 1 : b[i - (n - b.size())];
    TORCH_CHECK(x == y || x == 1 || y == 1, op, ": The size of tensor a (", x, ") must match the size of tensor b (", y,
                ") at non-singleton dimension ", i, "; shapes ", a, " and ", b, " do not broadcast");
    out[i] = x == 1 ? y : x;
  }
  return out;
}

bool is_expandable_to(IntArrayRef from, IntArrayRef to) noexcept {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t f = from[from.size() - 1 - i], t = to[to.size() - 1 - i];
    if (f != t && f != 1) return false;
  }
  return true;
}

std::vector<int64_t> channels_last_strides(const char* op, IntArrayRef sizes, MemoryFormat format) {
  int n = format == MemoryFormat::ChannelsLast ? 4 : 5;
  TORCH_CHECK(int(sizes.size()) == n, op, ": required rank ", n, " tensor to use ",
              n == 4 ? "channels_last" : "channels_last_3d", " format, got shape ", sizes);
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  auto take = [&](int d) {
    strides[size_t(d)] = stride;
    stride = next_stride(stride, sizes[size_t(d)]);
  };
  take(1);
  for (int d = n - 1; d >= 2; --d) take(d);
  take(0);
  return strides;
}

}  // namespace torch
