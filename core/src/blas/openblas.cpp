#include "blas/openblas.h"

#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "torch/core/error.h"
#include "torch/core/pool.h"

namespace torch {
namespace {

struct Library {
  std::mutex mutex;
  std::string wanted, opened;
  void* handle = nullptr;
  bool tried = false;
};
Library& library() {
  static Library* const instance = new Library;
  return *instance;
}

// Names carry the prefix scipy_ in the package, none in a system library, and 64_ where integers have 64 bits (which
// is not our interface).
void* find(void* handle, const std::string& name) {
  for (const char* prefix : {"scipy_", ""})
    if (void* symbol = dlsym(handle, (prefix + name).c_str())) return symbol;
  return nullptr;
}

void open_library(Library& lib) {
  lib.tried = true;
  std::vector<std::string> paths;
  if (const char* text = std::getenv("TORCH_BLAS"); text && std::string(text).find('/') != std::string::npos)
    paths.emplace_back(text);
  if (!lib.wanted.empty()) paths.push_back(lib.wanted);
  paths.insert(paths.end(), {"libscipy_openblas.so", "libopenblas.so.0"});
  // It starts as many threads as there are processors when it is opened, unless told otherwise; ours do the work.
  const char* const threads = std::getenv("OPENBLAS_NUM_THREADS");
  const std::string before = threads ? threads : "";
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  for (const std::string& path : paths) {
    lib.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (lib.handle && !find(lib.handle, "cblas_sgemm")) {
      dlclose(lib.handle);
      lib.handle = nullptr;
    }
    if (!lib.handle) continue;
    Dl_info info{};
    lib.opened = dladdr(find(lib.handle, "cblas_sgemm"), &info) && info.dli_fname ? info.dli_fname : path;
    break;
  }
  threads ? setenv("OPENBLAS_NUM_THREADS", before.c_str(), 1) : unsetenv("OPENBLAS_NUM_THREADS");
  if (!lib.handle) return;
  if (void* set = find(lib.handle, "openblas_set_num_threads")) reinterpret_cast<void (*)(int)>(set)(1);
}

void* handle_of(Library& lib) {
  std::lock_guard<std::mutex> lock(lib.mutex);
  if (!lib.tried) open_library(lib);
  return lib.handle;
}

enum : int { kRowMajor = 101, kNoTrans = 111, kTrans = 112 };

template <class T>
struct Cblas;
template <>
struct Cblas<float> {
  static constexpr const char* name = "cblas_sgemm";
  using Number = float;
};
template <>
struct Cblas<double> {
  static constexpr const char* name = "cblas_dgemm";
  using Number = double;
};
template <>
struct Cblas<std::complex<float>> {
  static constexpr const char* name = "cblas_cgemm";
  using Number = const void*;
};
template <>
struct Cblas<std::complex<double>> {
  static constexpr const char* name = "cblas_zgemm";
  using Number = const void*;
};

// An operand as BLAS takes it: contiguous along one side, the other stride at least that side's length.
template <class T>
struct Operand {
  const T* data;
  int leading, transposed;
  std::vector<T> copy;

  Operand(MatrixView<const T> v, int64_t rows, int64_t columns) {
    if (rows == 1) v.row = std::max<int64_t>(columns, 1);
    if (columns == 1) v.col = 1;
    const auto fits = [](int64_t one, int64_t stride, int64_t side) {
      return one == 1 && stride >= std::max<int64_t>(side, 1) && stride <= INT32_MAX;
    };
    if (fits(v.col, v.row, columns)) {
      data = v.data, leading = static_cast<int>(v.row), transposed = kNoTrans;
    } else if (fits(v.row, v.col, rows)) {
      data = v.data, leading = static_cast<int>(v.col), transposed = kTrans;
    } else {
      copy.resize(static_cast<size_t>(rows * columns));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) copy[static_cast<size_t>(i * columns + j)] = *v.at(i, j);
      data = copy.data(), leading = static_cast<int>(columns), transposed = kNoTrans;
    }
  }
};

}  // namespace

bool openblas_available() { return handle_of(library()) != nullptr; }

template <class T>
void openblas_product(const Product<T>& p) {
  using Number = typename Cblas<T>::Number;
  using Fn = void (*)(int, int, int, int, int, int, Number, const T*, int, const T*, int, Number, T*, int);
  const Fn call = reinterpret_cast<Fn>(require_blas_symbol("matmul", Cblas<T>::name));
  const auto number = [](const T& x) {
    if constexpr (std::is_pointer_v<Number>)
      return static_cast<Number>(&x);
    else
      return x;
  };
  if (std::max({p.m, p.n, p.k}) > INT32_MAX)
    throw_error(ErrorKind::Runtime, "matmul: OpenBLAS takes sides below 2**31");
  if (p.c.col != 1 && p.c.row == 1 && p.m > 1) return openblas_product(p.transposed());
  const bool in_place = (p.c.col == 1 || p.n == 1) && (p.m == 1 || p.c.row >= p.n) && p.c.row <= INT32_MAX;
  const Operand<T> a(p.a, p.m, p.k), b(p.b, p.k, p.n);
  // Blocks of C by shape: about square, enough of them for many threads.
  const double flops = 2.0 * double(p.m) * double(p.n) * double(p.k);
  int64_t rows = 1, columns = 1;
  while (rows * columns < 16 && flops / double(rows * columns) > 2e7)
    (p.m / rows >= p.n / columns ? rows : columns) *= 2;
  parallel_run(rows * columns, [&](int64_t task) {
    const int64_t r = task / columns, c = task % columns;
    const int64_t i0 = p.m * r / rows, i1 = p.m * (r + 1) / rows, j0 = p.n * c / columns, j1 = p.n * (c + 1) / columns;
    if (i0 == i1 || j0 == j1) return;
    std::vector<T> own(in_place ? 0 : static_cast<size_t>((i1 - i0) * (j1 - j0)));
    T* const out = in_place ? p.c.at(i0, j0) : own.data();
    const int64_t out_row = in_place ? (p.m == 1 ? std::max<int64_t>(p.n, 1) : p.c.row) : j1 - j0;
    T beta{};
    if (p.beta != T{}) {
      beta = T(1);
      for (int64_t i = i0; i < i1; ++i)
        for (int64_t j = j0; j < j1; ++j) out[(i - i0) * out_row + j - j0] = p.beta * *p.d.at(i, j);
    }
    const T* const pa = a.data + i0 * (a.transposed == kTrans ? 1 : int64_t(a.leading));
    const T* const pb = b.data + j0 * (b.transposed == kTrans ? int64_t(b.leading) : 1);
    call(kRowMajor, a.transposed, b.transposed, static_cast<int>(i1 - i0), static_cast<int>(j1 - j0),
         static_cast<int>(p.k), number(p.alpha), pa, a.leading, pb, b.leading, number(beta), out,
         static_cast<int>(out_row));
    if (!in_place)
      for (int64_t i = i0; i < i1; ++i)
        for (int64_t j = j0; j < j1; ++j) *p.c.at(i, j) = own[static_cast<size_t>((i - i0) * out_row + j - j0)];
  });
}
template void openblas_product(const Product<float>&);
template void openblas_product(const Product<double>&);
template void openblas_product(const Product<std::complex<float>>&);
template void openblas_product(const Product<std::complex<double>>&);

void set_blas_library(const std::string& path) {
  Library& lib = library();
  std::lock_guard<std::mutex> lock(lib.mutex);
  lib.wanted = path;
  if (!lib.handle) lib.tried = false;
}

std::string blas_library() {
  Library& lib = library();
  std::lock_guard<std::mutex> lock(lib.mutex);
  return lib.opened;
}

std::string blas_description() {
  void* const describe = blas_symbol("openblas_get_config");
  return describe ? reinterpret_cast<const char* (*)()>(describe)() : "";
}

void* blas_symbol(const char* name) {
  void* const handle = handle_of(library());
  return handle ? find(handle, name) : nullptr;
}

void* require_blas_symbol(const char* op, const char* name) {
  if (void* symbol = blas_symbol(name)) return symbol;
  TORCH_CHECK(!openblas_available(), op, ": ", blas_library(), " has no function ", name,
              "; pip install -U scipy-openblas32");
  throw_error(ErrorKind::Runtime,
              message(op, ": needs OpenBLAS, which is not installed: pip install scipy-openblas32"));
}

}  // namespace torch
