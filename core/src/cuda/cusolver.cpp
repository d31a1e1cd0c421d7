// cuSOLVER's C interface, as far as factorizations need it: what SolverWork asks for, a matrix of the batch after the
// other on the current stream. Its functions are found in the library when it is opened. Memory to work in comes from
// the allocator, for the stream.
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/allocator.h"
#include "cuda/libraries.h"
#include "cuda/runtime.h"
#include "cuda/tables.h"
#include "iterate/dense.h"
#include "ops/linalg/work.h"
#include "torch/core/error.h"
#include "torch/core/ops/copy.h"

namespace torch::cuda {

namespace {

using Handle = void*;
enum Triangle : int { kLower = 0, kUpper = 1 };
enum Type : int { kFloat32 = 0, kFloat64 = 1, kComplex64 = 4, kComplex128 = 5 };

struct Functions {
  void* from;
  int (*create)(Handle*);
  int (*set_stream)(Handle, cudaStream_t);
  int (*create_parameters)(void**);
  int (*potrf_size)(Handle, void*, int triangle, int64_t n, int type, const void* a, int64_t lda, int compute,
                    size_t* device, size_t* host);
  int (*potrf)(Handle, void*, int triangle, int64_t n, int type, void* a, int64_t lda, int compute, void* device,
               size_t, void* host, size_t, int* info);
  int (*getrf_size)(Handle, void*, int64_t m, int64_t n, int type, const void* a, int64_t lda, int compute,
                    size_t* device, size_t* host);
  int (*getrf)(Handle, void*, int64_t m, int64_t n, int type, void* a, int64_t lda, int64_t* pivots, int compute,
               void* device, size_t, void* host, size_t, int* info);
  int (*getrs)(Handle, void*, int transpose, int64_t n, int64_t columns, int type, const void* a, int64_t lda,
               const int64_t* pivots, int type_b, void* b, int64_t ldb, int* info);
  int (*geqrf_size)(Handle, void*, int64_t m, int64_t n, int type, const void* a, int64_t lda, int type_tau,
                    const void* tau, int compute, size_t* device, size_t* host);
  int (*geqrf)(Handle, void*, int64_t m, int64_t n, int type, void* a, int64_t lda, int type_tau, void* tau,
               int compute, void* device, size_t, void* host, size_t, int* info);
  int (*syevd_size)(Handle, void*, int job, int triangle, int64_t n, int type, const void* a, int64_t lda, int type_w,
                    const void* w, int compute, size_t* device, size_t* host);
  int (*syevd)(Handle, void*, int job, int triangle, int64_t n, int type, void* a, int64_t lda, int type_w, void* w,
               int compute, void* device, size_t, void* host, size_t, int* info);
  int (*geev_size)(Handle, void*, int job_left, int job_right, int64_t n, int type, const void* a, int64_t lda,
                   int type_w, const void* w, int type_l, const void* left, int64_t ldl, int type_r, const void* right,
                   int64_t ldr, int compute, size_t* device, size_t* host);
  int (*geev)(Handle, void*, int job_left, int job_right, int64_t n, int type, void* a, int64_t lda, int type_w,
              void* w, int type_l, void* left, int64_t ldl, int type_r, void* right, int64_t ldr, int compute,
              void* device, size_t, void* host, size_t, int* info);
  int (*gesvd_size)(Handle, void*, signed char job_u, signed char job_v, int64_t m, int64_t n, int type, const void* a,
                    int64_t lda, int type_s, const void* s, int type_u, const void* u, int64_t ldu, int type_v,
                    const void* v, int64_t ldv, int compute, size_t* device, size_t* host);
  int (*gesvd)(Handle, void*, signed char job_u, signed char job_v, int64_t m, int64_t n, int type, void* a,
               int64_t lda, int type_s, void* s, int type_u, void* u, int64_t ldu, int type_v, void* v, int64_t ldv,
               int compute, void* device, size_t, void* host, size_t, int* info);
  // For the four types, whose names differ; pointers to their numbers.
  int (*orgqr_size[4])(Handle, int m, int n, int k, const void* a, int lda, const void* tau, int* size);
  int (*orgqr[4])(Handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info);
  int (*ormqr_size[4])(Handle, int side, int transpose, int m, int n, int k, const void* a, int lda, const void* tau,
                       const void* c, int ldc, int* size);
  int (*ormqr[4])(Handle, int side, int transpose, int m, int n, int k, const void* a, int lda, const void* tau,
                  void* c, int ldc, void* work, int size, int* info);

  explicit Functions(void* library) : from(library) {
    find(create, "cusolverDnCreate");
    find(set_stream, "cusolverDnSetStream");
    find(create_parameters, "cusolverDnCreateParams");
    find(potrf_size, "cusolverDnXpotrf_bufferSize"), find(potrf, "cusolverDnXpotrf");
    find(getrf_size, "cusolverDnXgetrf_bufferSize"), find(getrf, "cusolverDnXgetrf");
    find(getrs, "cusolverDnXgetrs");
    find(geqrf_size, "cusolverDnXgeqrf_bufferSize"), find(geqrf, "cusolverDnXgeqrf");
    find(syevd_size, "cusolverDnXsyevd_bufferSize"), find(syevd, "cusolverDnXsyevd");
    find(geev_size, "cusolverDnXgeev_bufferSize"), find(geev, "cusolverDnXgeev");
    find(gesvd_size, "cusolverDnXgesvd_bufferSize"), find(gesvd, "cusolverDnXgesvd");
    find(orgqr_size[0], "cusolverDnSorgqr_bufferSize"), find(orgqr[0], "cusolverDnSorgqr");
    find(orgqr_size[1], "cusolverDnDorgqr_bufferSize"), find(orgqr[1], "cusolverDnDorgqr");
    find(orgqr_size[2], "cusolverDnCungqr_bufferSize"), find(orgqr[2], "cusolverDnCungqr");
    find(orgqr_size[3], "cusolverDnZungqr_bufferSize"), find(orgqr[3], "cusolverDnZungqr");
    find(ormqr_size[0], "cusolverDnSormqr_bufferSize"), find(ormqr[0], "cusolverDnSormqr");
    find(ormqr_size[1], "cusolverDnDormqr_bufferSize"), find(ormqr[1], "cusolverDnDormqr");
    find(ormqr_size[2], "cusolverDnCunmqr_bufferSize"), find(ormqr[2], "cusolverDnCunmqr");
    find(ormqr_size[3], "cusolverDnZunmqr_bufferSize"), find(ormqr[3], "cusolverDnZunmqr");
  }
  template <class F>
  void find(F& f, const char* name) {
    f = reinterpret_cast<F>(function_of(from, "cuSOLVER", name));
  }
};

const char* name_of(int code) {
  static constexpr const char* kNames[] = {"CUSOLVER_STATUS_SUCCESS",
                                           "CUSOLVER_STATUS_NOT_INITIALIZED",
                                           "CUSOLVER_STATUS_ALLOC_FAILED",
                                           "CUSOLVER_STATUS_INVALID_VALUE",
                                           "CUSOLVER_STATUS_ARCH_MISMATCH",
                                           "CUSOLVER_STATUS_MAPPING_ERROR",
                                           "CUSOLVER_STATUS_EXECUTION_FAILED",
                                           "CUSOLVER_STATUS_INTERNAL_ERROR",
                                           "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
                                           "CUSOLVER_STATUS_NOT_SUPPORTED"};
  return code >= 0 && code < 10 ? kNames[code] : "an error";
}
void check_code(const char* op, int code, const char* what) {
  TORCH_CHECK(code == 0, op, ": cuSOLVER's ", what, " gave ", name_of(code), " (", code,
              "); TORCH_CUSOLVER_LIBRARY= turns cuSOLVER off");
}

int type_of(DType t) {
  return t == DType::Float32     ? kFloat32
         : t == DType::Float64   ? kFloat64
         : t == DType::Complex64 ? kComplex64
                                 : kComplex128;
}
// Where functions of a type are in the arrays of Functions.
int place_of(DType t) { return t == DType::Float32 ? 0 : t == DType::Float64 ? 1 : t == DType::Complex64 ? 2 : 3; }
int real_type_of(DType t) { return t == DType::Float32 || t == DType::Complex64 ? kFloat32 : kFloat64; }

// A library that is open, and what it has made for each device.
struct Library {
  Functions f;
  void* parameters = nullptr;
  std::map<int, Handle> handles;
  explicit Library(void* handle) : f(handle) {}
};
std::mutex mutex;
Library* library_now() {
  void* const found = library("cusolver");
  if (!found) return nullptr;
  static auto& all = *new std::map<void*, Library>;
  const auto at = all.find(found);
  return at != all.end() ? &at->second : &all.emplace(found, found).first->second;
}

// One operator's calls, with the handle of the device set to its current stream. Holds the lock.
class Session {
 public:
  Session(const char* op, const Tensor& a)
      : op_(op), lock_(mutex), guard_(a.device().index), library_(*library_now()), device_(a.device().index) {
    const BesideCapture beside;  // what it makes is no work of a graph
    if (!library_.parameters) check_code(op, f().create_parameters(&library_.parameters), "cusolverDnCreateParams");
    Handle& handle = library_.handles[device_];
    if (!handle) check_code(op, f().create(&handle), "cusolverDnCreate");
    handle_ = handle;
    stream_ = current_stream(device_).handle;
    check_code(op, f().set_stream(handle_, stream_), "cusolverDnSetStream");
  }
  const Functions& f() const { return library_.f; }
  Handle handle() const { return handle_; }
  void* parameters() const { return library_.parameters; }

  // run(workspace of the device, its size, that of the host, its size) after size(&, &) has told them, for each matrix.
  template <class Size, class Run>
  void for_each(const char* what, int64_t count, Size size, Run run) {
    size_t bytes = 0, host_bytes = 0;
    check_code(op_, size(&bytes, &host_bytes), what);
    std::vector<char> host(host_bytes);
    void* const work = bytes ? allocate(bytes, device_, stream_) : nullptr;
    int code = 0;
    for (int64_t i = 0; i < count && !code; ++i) code = run(i, work, bytes, host.data(), host_bytes);
    if (work) release(work);
    check_code(op_, code, what);
  }

 private:
  const char* op_;
  std::lock_guard<std::mutex> lock_;
  DeviceGuard guard_;
  Library& library_;
  int device_;
  Handle handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// The matrices of a batch, one after the other in memory.
struct Matrices {
  char* data;
  size_t step;
  Matrices(const Tensor& t, int64_t numbers)
      : data(const_cast<char*>(t.data<char>())), step(size_t(numbers) * size_t(t.item_size())) {}
  void* operator[](int64_t i) const { return data + size_t(i) * step; }
};
int* info_of(const Tensor& info, int64_t i) { return const_cast<int*>(info.data<int>()) + i; }

// Small matrices by the hundred are done sooner than that many calls.
constexpr int64_t kMostSmall = 16, kSmall = 64;
bool takes(const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1), count = a.numel() / (m * n);
  if (count > kMostSmall && std::max(m, n) < kSmall) return false;
  const std::lock_guard lock(mutex);
  return library_now() != nullptr;
}

void cholesky(const char* op, const Tensor& a, bool lower, const Tensor& info) {
  Session s(op, a);
  const int64_t n = a.size(-1);
  const int type = type_of(a.dtype()), triangle = lower ? kLower : kUpper;
  const Matrices x(a, n * n);
  s.for_each(
      "cusolverDnXpotrf", info.numel(),
      [&](size_t* device, size_t* host) {
        return s.f().potrf_size(s.handle(), s.parameters(), triangle, n, type, x[0], n, type, device, host);
      },
      [&](int64_t i, void* work, size_t bytes, void* host, size_t host_bytes) {
        return s.f().potrf(s.handle(), s.parameters(), triangle, n, type, x[i], n, type, work, bytes, host, host_bytes,
                           info_of(info, i));
      });
}

void lu(const char* op, const Tensor& a, int64_t m, int64_t n, const Tensor& pivots, const Tensor& info) {
  const Tensor wide = empty_tensor(pivots.sizes(), DType::Int64, a.device());
  {
    Session s(op, a);
    const int type = type_of(a.dtype());
    const Matrices x(a, m * n);
    s.for_each(
        "cusolverDnXgetrf", info.numel(),
        [&](size_t* device, size_t* host) {
          return s.f().getrf_size(s.handle(), s.parameters(), m, n, type, x[0], m, type, device, host);
        },
        [&](int64_t i, void* work, size_t bytes, void* host, size_t host_bytes) {
          return s.f().getrf(s.handle(), s.parameters(), m, n, type, x[i], m,
                             const_cast<int64_t*>(wide.data<int64_t>()) + i * std::min(m, n), type, work, bytes, host,
                             host_bytes, info_of(info, i));
        });
  }
  copy_(pivots, wide);
}

void lu_solve(const char* op, const Tensor& a, const Tensor& pivots, const Tensor& b, int64_t n, int64_t columns) {
  const Tensor wide = as_contiguous(pivots, DType::Int64), info = empty_tensor({1}, DType::Int32, a.device());
  Session s(op, a);
  const int type = type_of(a.dtype());
  const Matrices x(a, n * n), y(b, n * columns);
  s.for_each(
      "cusolverDnXgetrs", a.numel() / (n * n), [](size_t*, size_t*) { return 0; },
      [&](int64_t i, void*, size_t, void*, size_t) {
        return s.f().getrs(s.handle(), s.parameters(), 0, n, columns, type, x[i], n, wide.data<int64_t>() + i * n, type,
                           y[i], n, info_of(info, 0));
      });
}

void reflect(const char* op, const Tensor& a, int64_t m, int64_t n, const Tensor& tau) {
  const Tensor info = empty_tensor({1}, DType::Int32, a.device());
  Session s(op, a);
  const int type = type_of(a.dtype());
  const Matrices x(a, m * n), t(tau, std::min(m, n));
  s.for_each(
      "cusolverDnXgeqrf", a.numel() / (m * n),
      [&](size_t* device, size_t* host) {
        return s.f().geqrf_size(s.handle(), s.parameters(), m, n, type, x[0], m, type, t[0], type, device, host);
      },
      [&](int64_t i, void* work, size_t bytes, void* host, size_t host_bytes) {
        return s.f().geqrf(s.handle(), s.parameters(), m, n, type, x[i], m, type, t[i], type, work, bytes, host,
                           host_bytes, info_of(info, 0));
      });
}

void multiply_out(const char* op, const Tensor& a, int64_t m, int64_t n, int64_t k, const Tensor& tau) {
  const Tensor info = empty_tensor({1}, DType::Int32, a.device());
  Session s(op, a);
  const int which = place_of(a.dtype());
  const Matrices x(a, m * n), t(tau, k);
  int numbers = 0;
  s.for_each(
      which < 2 ? "cusolverDn orgqr" : "cusolverDn ungqr", a.numel() / (m * n),
      [&](size_t* device, size_t*) {
        const int code = s.f().orgqr_size[which](s.handle(), int(m), int(n), int(k), x[0], int(m), t[0], &numbers);
        *device = size_t(numbers) * size_t(a.item_size());
        return code;
      },
      [&](int64_t i, void* work, size_t, void*, size_t) {
        return s.f().orgqr[which](s.handle(), int(m), int(n), int(k), x[i], int(m), t[i], work, numbers,
                                  info_of(info, 0));
      });
}

void multiply_by(const char* op, const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool adjoint) {
  const Tensor info = empty_tensor({1}, DType::Int32, a.device());
  Session s(op, a);
  const int which = place_of(a.dtype()), side = left ? 0 : 1, how = !adjoint ? 0 : which < 2 ? 1 : 2;
  const int rows = int(a.size(-2)), m = int(c.size(-2)), n = int(c.size(-1)), k = int(tau.size(-1));
  const Matrices x(a, rows * a.size(-1)), t(tau, k), y(c, int64_t(m) * n);
  int numbers = 0;
  s.for_each(
      which < 2 ? "cusolverDn ormqr" : "cusolverDn unmqr", c.numel() / (int64_t(m) * n),
      [&](size_t* device, size_t*) {
        const int code = s.f().ormqr_size[which](s.handle(), side, how, m, n, k, x[0], rows, t[0], y[0], m, &numbers);
        *device = size_t(numbers) * size_t(a.item_size());
        return code;
      },
      [&](int64_t i, void* work, size_t, void*, size_t) {
        return s.f().ormqr[which](s.handle(), side, how, m, n, k, x[i], rows, t[i], y[i], m, work, numbers,
                                  info_of(info, 0));
      });
}

void eigen(const char* op, const Tensor& a, const Tensor& values, bool vectors, bool lower, const Tensor& info) {
  Session s(op, a);
  const int64_t n = a.size(-1);
  const int type = type_of(a.dtype()), real = real_type_of(a.dtype()), triangle = lower ? kLower : kUpper;
  const Matrices x(a, n * n), w(values, n);
  s.for_each(
      "cusolverDnXsyevd", info.numel(),
      [&](size_t* device, size_t* host) {
        return s.f().syevd_size(s.handle(), s.parameters(), vectors, triangle, n, type, x[0], n, real, w[0], type,
                                device, host);
      },
      [&](int64_t i, void* work, size_t bytes, void* host, size_t host_bytes) {
        return s.f().syevd(s.handle(), s.parameters(), vectors, triangle, n, type, x[i], n, real, w[i], type, work,
                           bytes, host, host_bytes, info_of(info, i));
      });
}

void general_eigen(const char* op, const Tensor& a, const Tensor& values, const Tensor& vectors, const Tensor& info) {
  Session s(op, a);
  const int64_t n = a.size(-1);
  const bool wanted = vectors.numel() > 0;
  const int type = type_of(a.dtype()), complex = real_type_of(a.dtype()) == kFloat32 ? kComplex64 : kComplex128;
  const Matrices x(a, n * n), w(values, n), v(vectors, wanted ? n * n : 0);
  s.for_each(
      "cusolverDnXgeev", info.numel(),
      [&](size_t* device, size_t* host) {
        return s.f().geev_size(s.handle(), s.parameters(), 0, wanted, n, type, x[0], n, complex, w[0], type, nullptr, n,
                               type, v[0], n, type, device, host);
      },
      [&](int64_t i, void* work, size_t bytes, void* host, size_t host_bytes) {
        return s.f().geev(s.handle(), s.parameters(), 0, wanted, n, type, x[i], n, complex, w[i], type, nullptr, n,
                          type, v[i], n, type, work, bytes, host, host_bytes, info_of(info, i));
      });
}

void singular(const char* op, const Tensor& a, int64_t m, int64_t n, const Tensor& u, const Tensor& values,
              const Tensor& vh, const Tensor& info) {
  Session s(op, a);
  const int64_t columns = u.numel() ? u.size(-1) : 0;
  const signed char job = !columns ? 'N' : columns == m ? 'A' : 'S';
  const int type = type_of(a.dtype()), real = real_type_of(a.dtype());
  const Matrices x(a, m * n), w(values, n), left(u, m * columns), right(vh, columns ? n * n : 0);
  s.for_each(
      "cusolverDnXgesvd", info.numel(),
      [&](size_t* device, size_t* host) {
        return s.f().gesvd_size(s.handle(), s.parameters(), job, job, m, n, type, x[0], m, real, w[0], type, left[0], m,
                                type, right[0], n, type, device, host);
      },
      [&](int64_t i, void* work, size_t bytes, void* host, size_t host_bytes) {
        return s.f().gesvd(s.handle(), s.parameters(), job, job, m, n, type, x[i], m, real, w[i], type, left[i], m,
                           type, right[i], n, type, work, bytes, host, host_bytes, info_of(info, i));
      });
}

}  // namespace

const SolverWork solver{takes,        cholesky,    lu,    lu_solve,      reflect,
                        multiply_out, multiply_by, eigen, general_eigen, singular};

}  // namespace torch::cuda
