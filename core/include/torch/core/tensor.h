// The tensor: a small counted header (TensorImpl) over a Storage, and the handle (Tensor) that C++ code passes around.
//
//   Tensor ──> TensorImpl { keys, dtype, sizes, strides, offset } ──> Storage { memory, version }
//                 │ autograd: who made it (torch-autograd; null without)
//                 └ base: the tensor that this one is a view of
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

#include "torch/core/array_ref.h"
#include "torch/core/device.h"
#include "torch/core/dtype.h"
#include "torch/core/error.h"
#include "torch/core/intrusive.h"
#include "torch/core/scalar.h"
#include "torch/core/storage.h"

namespace torch {

struct TensorImpl;
class TensorOptions;

// Implemented by torch-autograd (Node); core only ever gives its reference back.
struct AutogradMeta : Counted {
  virtual void release() noexcept = 0;
  // The last handle of `t` is gone: gives t's reference back. True when a graph still refers to `t` itself (a leaf),
  // and owns it from now on.
  virtual bool let_go(TensorImpl* t) noexcept = 0;
  // True when let_go() would keep the tensor.
  virtual bool keeps_tensor() const noexcept = 0;
  // Shows the Python objects that only this tensor keeps (hooks) to the garbage collector: a visitproc and its
  // argument.
  virtual int traverse(int (*visit)(void* object, void* arg), void* arg) const = 0;

 protected:
  ~AutogradMeta() = default;
};

// A version counter of its own, for tensors made by `.data`.
struct VersionCounter : Counted {
  std::atomic<uint32_t> value{0};
  static void destroy(VersionCounter* v) noexcept { delete v; }
};

// What a tensor consists of in place of memory: the parts of a sparse tensor, the tensor in a wrapper. Aliases share
// it.
struct Payload : Counted {
  enum class Kind : uint8_t { Sparse, SparseCompressed, Wrapped };
  const Kind kind;

  virtual ~Payload() = default;
  static void destroy(Payload* p) noexcept { delete p; }

 protected:
  explicit Payload(Kind k) noexcept : kind(k) {}
};

constexpr Keys dtype_key(DType t) noexcept { return is_stored(t) ? key(DispatchKey::Stored) : Keys(0); }

constexpr int kMaxDims = 64;
constexpr int kInlineDims = 5;

struct TensorImpl : Counted {
  Keys keys;
  DType dtype;
  uint8_t ndim;
  int64_t byte_offset;  // from the storage's start to the first element: the storage may move its memory
  int64_t numel;
  Storage* storage;             // owned reference
  AutogradMeta* autograd;       // owned reference or null
  TensorImpl* base;             // owned reference to the tensor this is a view of, or null
  VersionCounter* own_version;  // owned reference; null: the storage's counter
  Payload* payload;             // owned reference; null: its elements lie in the storage
  void* pyobj;                  // the living Python object; it owns this tensor, unless `owns_pyobj`
  uint32_t output_nr;           // which output of `autograd` this is
  uint32_t graph_version;       // of a view: the version at which `autograd` was right
  uint8_t flags;
  bool owns_pyobj;  // `pyobj` has attributes and Python let go of it: one reference is ours (changes under the GIL)
  Device device;
  int64_t* heap_dims;  // sizes then strides when ndim > kInlineDims
  int64_t inline_dims[2 * kInlineDims];

  enum : uint8_t {
    kContiguous = 1,     // row-major without gaps
    kWrappedNumber = 2,  // made from a Python number: yields in type promotion
    kNoGradView = 8,     // a view made while gradients were off
    kMultiView = 16,     // one of several views made by one call (split, unbind)
    kInference = 32,     // made in inference mode: no graph may keep it, and it is changed only in that mode
  };

  int64_t* sizes() noexcept { return ndim <= kInlineDims ? inline_dims : heap_dims; }
  int64_t* strides() noexcept { return ndim <= kInlineDims ? inline_dims + kInlineDims : heap_dims + ndim; }
  void* data() const noexcept { return static_cast<char*>(storage->data) + byte_offset; }
  bool contiguous() const noexcept { return flags & kContiguous; }
  std::atomic<uint32_t>& version() noexcept { return own_version ? own_version->value : storage->version; }

  TORCH_API static TensorImpl* make();  // fields set for an empty float tensor without storage
  TORCH_API static void destroy(TensorImpl*) noexcept;
  TORCH_API void set_ndim(int n);              // room for n sizes and strides
  TORCH_API void refresh_geometry() noexcept;  // numel and kContiguous from sizes and strides
};

// TensorImpl::kInference on a thread in inference mode, or 0: a flag of each tensor that is made.
extern TORCH_API constinit thread_local uint8_t inference_flag;

// Set by torch._C: the last handle of a tensor that owns its Python object is gone. The object owns the tensor again
// and dies as any other would.
TORCH_API extern void (*release_pyobj)(TensorImpl*) noexcept;

class Tensor : public Ref<TensorImpl> {
 public:
  using Ref<TensorImpl>::Ref;
  Tensor() noexcept = default;
  Tensor(Ref<TensorImpl> r) noexcept : Ref<TensorImpl>(std::move(r)) {}

  bool defined() const noexcept { return get() != nullptr; }
  int64_t dim() const noexcept { return get()->ndim; }
  int64_t numel() const noexcept { return get()->numel; }
  IntArrayRef sizes() const noexcept { return {get()->sizes(), get()->ndim}; }
  IntArrayRef strides() const noexcept { return {get()->strides(), get()->ndim}; }
  int64_t size(int64_t d) const noexcept { return get()->sizes()[d < 0 ? d + dim() : d]; }  // d is in range
  int64_t stride(int64_t d) const noexcept { return get()->strides()[d < 0 ? d + dim() : d]; }
  DType dtype() const noexcept { return get()->dtype; }
  Device device() const noexcept { return get()->device; }
  Keys keys() const noexcept { return get()->keys; }
  bool has(DispatchKey s) const noexcept { return get()->keys & key(s); }
  bool is_contiguous() const noexcept { return get()->contiguous(); }
  // Whether elements lie in the storage, at sizes, strides and offset. (A Meta tensor's would.)
  bool has_memory() const noexcept { return !get()->payload; }
  bool is_meta() const noexcept { return device().type == DeviceType::Meta; }
  bool requires_grad() const noexcept { return has(DispatchKey::Autograd); }
  bool is_wrapped_number() const noexcept { return get()->flags & TensorImpl::kWrappedNumber; }
  int64_t item_size() const noexcept { return torch::item_size(dtype()); }
  int64_t storage_offset() const noexcept { return get()->byte_offset / item_size(); }
  void* data() const noexcept { return get()->data(); }
  template <class T>
  T* data() const noexcept {
    return static_cast<T*>(get()->data());
  }
  uint32_t version() const noexcept { return get()->version().load(std::memory_order_relaxed); }
  void bump_version() const noexcept { get()->version().fetch_add(1, std::memory_order_relaxed); }
#ifdef TORCH_METHODS  // only names, no part of the layout
#include "torch/core/methods.def"
#endif
};
static_assert(sizeof(Tensor) == sizeof(TensorImpl*));

// RuntimeError when an inference tensor is about to be changed outside of inference mode.
TORCH_API void check_change_of_inference(const Tensor& t);
inline void check_change(const Tensor& t) {
  if (t && TORCH_UNLIKELY(t->flags & TensorImpl::kInference)) check_change_of_inference(t);
}

using TensorList = ArrayRef<Tensor>;

// What a new tensor is like.
struct Options {
  DType dtype = default_dtype();
  Device device = {};
};
inline Options options_of(const Tensor& t) { return {t.dtype(), t.device()}; }

// --- making tensors without dispatch: what kernels use -------------------------------------------------------------

// Uninitialised and contiguous. Sizes are checked: no negative one, no overflow (ErrorKind::Runtime names the sizes).
TORCH_API Tensor empty_tensor(IntArrayRef sizes, DType dtype, Device device = {});
// Uninitialised, dense, with the strides' order of `like` where it is dense, else contiguous.
TORCH_API Tensor empty_like_tensor(const Tensor& like, DType dtype);
// The value of a tensor of one element, wherever its memory is; waits for a device. RuntimeError on Meta and within
// vmap.
TORCH_API Scalar number_of(const Tensor& t);
// A 0-d tensor holding a number; `wrapped` marks it as a Python number for type promotion.
TORCH_API Tensor scalar_tensor_of(const Scalar& value, DType dtype, bool wrapped = false);
// A tensor over the same storage with other geometry, recorded as a view of self's base. `offset` counts elements from
// the storage's start. The caller proves that it stays inside the storage.
TORCH_API Tensor view_of(const Tensor& self, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
// The same geometry over the same storage, without graph: shares the version counter (detach) or not (data).
TORCH_API Tensor alias_of(const Tensor& self, bool share_version);
// Number of elements, or an error that names `op` when a size is negative or the product overflows.
TORCH_API int64_t checked_numel(const char* op, IntArrayRef sizes);
// Highest byte needed by (sizes, strides, offset) of a dtype, and the lowest element (negative strides).
struct Extent {
  int64_t low, high;  // elements relative to the first one; high is one past the last
};
TORCH_API Extent extent_of(IntArrayRef sizes, IntArrayRef strides) noexcept;

// --- small questions -------------------------------------------------------------------------------------------------

// Wraps a negative dim; IndexError as users know it: "Dimension out of range (expected to be in range of [-2, 1], but
// got 2)". A 0-d tensor accepts -1 and 0.
TORCH_API int64_t wrap_dim(int64_t dim, int64_t ndim);
TORCH_API std::vector<int64_t> contiguous_strides(IntArrayRef sizes);
// The shape that two broadcast to; RuntimeError names the op and both shapes.
TORCH_API std::vector<int64_t> broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b);
TORCH_API bool is_expandable_to(IntArrayRef from, IntArrayRef to) noexcept;

// `(3, 4) torch.float32`, as messages name an operand.
TORCH_API void show_in_message(std::ostream&, const Tensor&);
// The values, row by row, and `[ CPUFloatType{3,4} ]`.
TORCH_API std::ostream& operator<<(std::ostream&, const Tensor&);

}  // namespace torch
