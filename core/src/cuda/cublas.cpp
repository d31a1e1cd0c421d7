// cuBLASLt's C interface, as far as products of strided matrices need it; its functions are found in the library when
// it is opened. What a product looks like is a plan: descriptors, and the algorithm that the library's heuristics put
// first. Plans are kept; an algorithm's memory to work in comes from the allocator, for the stream, so captures hold
// it.
//
// cuBLASLt thinks in columns. Our rows are its columns, so c = a @ b is asked for as c' = b' @ a'.
#include "cuda/cublas.h"

#include <array>
#include <complex>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

#include "cuda/allocator.h"
#include "cuda/libraries.h"
#include "cuda/runtime.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

using Handle = void*;
enum Status : int { kSuccess = 0, kNotSupported = 15 };
enum Compute : int { kFloats = 68, kDoubles = 70 };
enum Type : int { kFloat16 = 2, kBFloat16 = 14, kFloat32 = 0, kFloat64 = 1, kComplex64 = 4, kComplex128 = 5 };
enum Transpose : int { kAsIs = 0, kTransposed = 1 };
enum Epilogue : int { kNothing = 1, kBias = 4 };
enum OfProduct : int { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
enum OfLayout : int { kBatchCount = 5, kBatchStride = 6 };
enum OfPreference : int { kMostWorkspace = 1, kAlignmentA = 5, kAlignmentB, kAlignmentC, kAlignmentD };

struct Algorithm {
  uint64_t data[8];
};
struct Choice {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

struct Functions {
  void* from;
  size_t (*version)();
  int (*create)(Handle*);
  int (*product_create)(void**, int compute, int scale);
  int (*product_set)(void*, int attribute, const void*, size_t);
  int (*product_destroy)(void*);
  int (*layout_create)(void**, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*layout_set)(void*, int attribute, const void*, size_t);
  int (*layout_destroy)(void*);
  int (*preference_create)(void**);
  int (*preference_set)(void*, int attribute, const void*, size_t);
  int (*preference_destroy)(void*);
  int (*choose)(Handle, void* product, void* a, void* b, void* c, void* d, void* preference, int asked, Choice*,
                int* found);
  int (*multiply)(Handle, void* product, const void* alpha, const void* a, void* layout_a, const void* b,
                  void* layout_b, const void* beta, const void* c, void* layout_c, void* d, void* layout_d,
                  const Algorithm*, void* workspace, size_t size, cudaStream_t);

  explicit Functions(void* library) : from(library) {
    find(version, "cublasLtGetVersion");
    find(create, "cublasLtCreate");
    find(product_create, "cublasLtMatmulDescCreate");
    find(product_set, "cublasLtMatmulDescSetAttribute");
    find(product_destroy, "cublasLtMatmulDescDestroy");
    find(layout_create, "cublasLtMatrixLayoutCreate");
    find(layout_set, "cublasLtMatrixLayoutSetAttribute");
    find(layout_destroy, "cublasLtMatrixLayoutDestroy");
    find(preference_create, "cublasLtMatmulPreferenceCreate");
    find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
    find(preference_destroy, "cublasLtMatmulPreferenceDestroy");
    find(choose, "cublasLtMatmulAlgoGetHeuristic");
    find(multiply, "cublasLtMatmul");
    TORCH_CHECK(
        version() >= 130000, "cuBLASLt: the library that was opened is of version ", version(),
        "; 130000 (CUDA 13) or newer is needed: pip install -U nvidia-cublas, or TORCH_CUBLASLT_LIBRARY= turns it off");
  }
  template <class F>
  void find(F& f, const char* name) {
    f = reinterpret_cast<F>(function_of(from, "cuBLASLt", name));
  }
};

const char* name_of(int code) {
  switch (code) {
    case 1:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case 8:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "an error";
}

// A matrix of the library's: rows beside each other, columns `leading` apart, or the transpose of such a one.
struct Columns {
  const void* data = nullptr;
  int64_t rows = 0, columns = 0, leading = 0, batch = 0;
  bool transposed = false;
};
// The transpose of an (m, n) slab, which our rows are to the library; false where neither dim's elements are
// neighbours.
bool columns_of(const Slab& s, int64_t m, int64_t n, Columns& to) {
  const auto fits = [](int64_t beside, int64_t stride, int64_t inner, int64_t outer) {
    return (beside == 1 || inner == 1) && (stride >= inner || outer == 1);
  };
  if (fits(s.col, s.row, n, m))
    to = {s.data, n, m, std::max(m == 1 ? 0 : s.row, n), s.batch, false};
  else if (fits(s.row, s.col, m, n))
    to = {s.data, m, n, std::max(n == 1 ? 0 : s.col, m), s.batch, true};
  else
    return false;
  return to.batch >= 0;
}

struct Asked {
  int device;
  Type type;
  int64_t m, n, k, batch;  // as the library counts: m rows of the result
  Columns a, b, c, d;
  const void* bias;
  bool adds;

  static int alignment(const void* p) {
    return 1 << std::min(8, __builtin_ctzll(reinterpret_cast<uintptr_t>(p) | 256));
  }
  using Key = std::array<int64_t, 23>;
  Key key() const {
    return {device,
            type,
            m,
            n,
            k,
            batch,
            adds,
            a.leading,
            a.batch,
            a.transposed,
            b.leading,
            b.batch,
            b.transposed,
            c.leading,
            c.batch,
            d.leading,
            d.batch,
            bias != nullptr,
            alignment(a.data),
            alignment(b.data),
            alignment(c.data),
            alignment(d.data),
            alignment(bias)};
  }
};

struct Plan {
  void *product = nullptr, *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  Choice choice{};
  bool possible = false;
};

class Products {
 public:
  explicit Products(void* library) : f_(library) {}

  bool run(const char* op, const Asked& x, const void* alpha, const void* beta, cudaStream_t stream) {
    const Plan& plan = of(op, x);
    if (!plan.possible) return false;
    if (x.bias)
      check_code(f_.product_set(plan.product, kBiasPointer, &x.bias, sizeof x.bias), op, "MatmulDescSetAttribute", x);
    void* const workspace = plan.choice.workspace ? allocate(plan.choice.workspace, x.device, stream) : nullptr;
    const int code = f_.multiply(handle(x.device), plan.product, alpha, x.a.data, plan.a, x.b.data, plan.b, beta,
                                 x.c.data, plan.c, const_cast<void*>(x.d.data), plan.d, &plan.choice.algorithm,
                                 workspace, plan.choice.workspace, stream);
    if (workspace) release(workspace);
    check_code(code, op, "Matmul", x);
    return true;
  }

 private:
  static constexpr size_t kMost = 1024, kWorkspace = size_t(32) << 20;
  using Entry = std::pair<Asked::Key, Plan>;
  const Functions f_;
  std::map<int, Handle> handles_;
  std::list<Entry> plans_;  // the last one used first
  std::map<Asked::Key, std::list<Entry>::iterator> places_;

  static void check_code(int code, const char* op, const char* what, const Asked& x) {
    TORCH_CHECK(code == kSuccess, op, ": cuBLASLt: cublasLt", what, " gave ", name_of(code), " (", code, ") for ",
                x.batch, " products of (", x.n, ", ", x.k, ") and (", x.k, ", ", x.m,
                "); TORCH_CUBLASLT_LIBRARY= turns cuBLASLt off");
  }
  Handle handle(int device) {
    Handle& h = handles_[device];
    if (!h) {
      const BesideCapture beside;  // its memory is no work of a graph
      const int code = f_.create(&h);
      TORCH_CHECK(code == kSuccess, "cuBLASLt: cublasLtCreate gave ", name_of(code), " (", code, ") on cuda:", device,
                  "; TORCH_CUBLASLT_LIBRARY= turns cuBLASLt off");
    }
    return h;
  }
  const Plan& of(const char* op, const Asked& x) {
    const Asked::Key key = x.key();
    if (const auto known = places_.find(key); known != places_.end()) {
      plans_.splice(plans_.begin(), plans_, known->second);
      return plans_.front().second;
    }
    Plan plan;
    try {
      make(op, x, plan);
    } catch (...) {
      destroy(plan);
      throw;
    }
    if (plans_.size() == kMost) {
      destroy(plans_.back().second);
      places_.erase(plans_.back().first);
      plans_.pop_back();
    }
    plans_.emplace_front(key, plan);
    places_[key] = plans_.begin();
    return plans_.front().second;
  }
  void make(const char* op, const Asked& x, Plan& plan) {
    const bool wide = x.type == kFloat64 || x.type == kComplex128,
               is_complex = x.type == kComplex64 || x.type == kComplex128;
    const Type scale = is_complex ? x.type : wide ? kFloat64 : kFloat32;
    check_code(f_.product_create(&plan.product, wide ? kDoubles : kFloats, scale), op, "MatmulDescCreate", x);
    const auto set = [&](int attribute, auto value) {
      check_code(f_.product_set(plan.product, attribute, &value, sizeof value), op, "MatmulDescSetAttribute", x);
    };
    set(kTransposeA, int(x.a.transposed ? kTransposed : kAsIs));
    set(kTransposeB, int(x.b.transposed ? kTransposed : kAsIs));
    set(kEpilogue, int(x.bias ? kBias : kNothing));
    if (x.bias) set(kBiasPointer, x.bias);
    plan.a = layout(op, x, x.a);
    plan.b = layout(op, x, x.b);
    plan.c = layout(op, x, x.c);
    plan.d = layout(op, x, x.d);
    void* preference = nullptr;
    check_code(f_.preference_create(&preference), op, "MatmulPreferenceCreate", x);
    const auto prefer = [&](int attribute, auto value) {
      const int code = f_.preference_set(preference, attribute, &value, sizeof value);
      if (code) f_.preference_destroy(preference);
      check_code(code, op, "MatmulPreferenceSetAttribute", x);
    };
    prefer(kMostWorkspace, kWorkspace);
    prefer(kAlignmentA, uint32_t(Asked::alignment(x.a.data)));
    prefer(kAlignmentB, uint32_t(Asked::alignment(x.b.data)));
    prefer(kAlignmentC, uint32_t(Asked::alignment(x.c.data)));
    prefer(kAlignmentD, uint32_t(Asked::alignment(x.d.data)));
    int found = 0;
    const int code =
        f_.choose(handle(x.device), plan.product, plan.a, plan.b, plan.c, plan.d, preference, 1, &plan.choice, &found);
    f_.preference_destroy(preference);
    if (code != kNotSupported) check_code(code, op, "MatmulAlgoGetHeuristic", x);
    plan.possible = code == kSuccess && found > 0 && plan.choice.state == kSuccess;
  }
  void* layout(const char* op, const Asked& x, const Columns& m) {
    void* made = nullptr;
    check_code(f_.layout_create(&made, x.type, uint64_t(m.rows), uint64_t(m.columns), m.leading), op,
               "MatrixLayoutCreate", x);
    if (x.batch > 1) {
      const int count = int(x.batch);
      check_code(f_.layout_set(made, kBatchCount, &count, sizeof count), op, "MatrixLayoutSetAttribute", x);
      check_code(f_.layout_set(made, kBatchStride, &m.batch, sizeof m.batch), op, "MatrixLayoutSetAttribute", x);
    }
    return made;
  }
  void destroy(const Plan& plan) {
    for (void* layout : {plan.a, plan.b, plan.c, plan.d})
      if (layout) f_.layout_destroy(layout);
    if (plan.product) f_.product_destroy(plan.product);
  }
};
std::mutex mutex;

// Of the library that is open now; with another one, others.
Products* products() {
  void* const found = library("cublasLt");
  if (!found) return nullptr;
  static auto& all = *new std::map<void*, Products>;
  const auto at = all.find(found);
  return at != all.end() ? &at->second : &all.emplace(found, found).first->second;
}

bool type_of(DType dtype, Type& type) {
  switch (dtype) {
    case DType::Float16:
      return type = kFloat16, true;
    case DType::BFloat16:
      return type = kBFloat16, true;
    case DType::Float32:
      return type = kFloat32, true;
    case DType::Float64:
      return type = kFloat64, true;
    case DType::Complex64:
      return type = kComplex64, true;
    case DType::Complex128:
      return type = kComplex128, true;
    default:
      return false;
  }
}

// A factor in the type that the library scales by.
struct Factor {
  alignas(16) char bytes[16];
  Factor(const ::torch::Scalar& x, Type type) {
    if (type == kComplex128)
      put(x.to<std::complex<double>>());
    else if (type == kComplex64)
      put(x.to<std::complex<float>>());
    else if (type == kFloat64)
      put(x.to<double>());
    else
      put(x.to<float>());
  }
  template <class T>
  void put(T value) {
    std::memcpy(bytes, &value, sizeof value);
  }
};

}  // namespace

bool multiply_by_cublas(const char* op, int device, cudaStream_t stream, DType dtype, const ProductSize& s,
                        const ::torch::Scalar& alpha, const Slab& a, const Slab& b, const ::torch::Scalar& beta,
                        const Slab& d, const Slab& c) {
  // One row or column is read once and no algorithm reads less; and a batch is counted in an int.
  constexpr int64_t kMostBatch = (int64_t(1) << 31) - 1;
  Asked x{};
  x.device = device;
  if (s.m == 1 || s.n == 1 || s.k == 0 || s.batch > kMostBatch || !type_of(dtype, x.type)) return false;
  if (c.col != 1 && c.row == 1)  // the same, all transposed
    return multiply_by_cublas(op, device, stream, dtype, {s.batch, s.n, s.m, s.k}, alpha, b.transposed(),
                              a.transposed(), beta, d.transposed(), c.transposed());
  x.m = s.n, x.n = s.m, x.k = s.k, x.batch = s.batch;
  x.adds = d.data && beta.to<std::complex<double>>() != 0.0;
  if (!columns_of(b, s.k, s.n, x.a) || !columns_of(a, s.m, s.k, x.b) || !columns_of(c, s.m, s.n, x.d) || x.d.transposed)
    return false;
  const bool is_row = x.adds && d.row == 0 && d.col == 1 && (s.batch == 1 || d.batch == 0);
  if (is_row && beta.to<std::complex<double>>() == 1.0) x.bias = d.data, x.adds = false;
  if (!x.adds)
    x.c = x.d;
  else if (!columns_of(d, s.m, s.n, x.c) || x.c.transposed)
    return false;
  const std::lock_guard lock(mutex);
  Products* const all = products();
  return all &&
         all->run(op, x, Factor(alpha, x.type).bytes, Factor(x.adds ? beta : ::torch::Scalar(0), x.type).bytes, stream);
}

}  // namespace torch::cuda
