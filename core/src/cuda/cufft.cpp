// cuFFT's C interface, as far as transforms along one dim need it; its functions are found in the library when it is
// opened, so that nothing is linked. A plan belongs to a stream, since it has memory of its own to work in.
#include "cuda/cufft.h"

#include <list>
#include <map>
#include <mutex>
#include <tuple>

#include "cuda/libraries.h"
#include "cuda/runtime.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

using Plan = int;
enum Type : int { C2C = 0x29, Z2Z = 0x69 };
enum Direction : int { Forward = -1, Inverse = 1 };

struct Functions {
  void* from = nullptr;
  int (*create)(Plan*);
  int (*make)(Plan, int rank, long long* n, long long* inembed, long long istride, long long idist, long long* onembed,
              long long ostride, long long odist, int type, long long batch, size_t* work);
  int (*set_stream)(Plan, cudaStream_t);
  int (*exec_c2c)(Plan, void* in, void* out, int direction);
  int (*exec_z2z)(Plan, void* in, void* out, int direction);
  int (*destroy)(Plan);

  explicit Functions(void* library) : from(library) {
    find(create, "cufftCreate");
    find(make, "cufftMakePlanMany64");
    find(set_stream, "cufftSetStream");
    find(exec_c2c, "cufftExecC2C");
    find(exec_z2z, "cufftExecZ2Z");
    find(destroy, "cufftDestroy");
  }
  template <class F>
  void find(F& f, const char* name) {
    f = reinterpret_cast<F>(function_of(from, "cuFFT", name));
  }
};

const char* name_of(int code) {
  static constexpr const char* kNames[] = {
      "CUFFT_SUCCESS",        "CUFFT_INVALID_PLAN", "CUFFT_ALLOC_FAILED", "CUFFT_INVALID_TYPE", "CUFFT_INVALID_VALUE",
      "CUFFT_INTERNAL_ERROR", "CUFFT_EXEC_FAILED",  "CUFFT_SETUP_FAILED", "CUFFT_INVALID_SIZE", "CUFFT_UNALIGNED_DATA"};
  return code >= 0 && code < 10 ? kNames[code] : "an error";
}

// Lines of n elements `stride` apart, `batch` of them `distance` apart.
struct Lines {
  long long n, stride, distance, batch;
};
using Key = std::tuple<cudaStream_t, int, int, long long, long long, long long, long long>;

class Plans {
 public:
  explicit Plans(void* library) : f(library) {}
  const Functions f;

  // The plan for these lines; the caller holds the lock.
  Plan of(int device, cudaStream_t stream, Type type, const Lines& l) {
    const Key key{stream, device, int(type), l.n, l.stride, l.distance, l.batch};
    if (const auto known = places_.find(key); known != places_.end()) {
      plans_.splice(plans_.begin(), plans_, known->second);
      return known->second->second;
    }
    if (plans_.size() == kMost) drop(plans_.back().second);
    const BesideCapture beside;  // a plan's memory is no work of a graph
    Plan plan = 0;
    check_code(f.create(&plan), "cufftCreate", l);
    long long n[] = {l.n};
    size_t work = 0;
    const int made = f.make(plan, 1, n, n, l.stride, l.distance, n, l.stride, l.distance, type, l.batch, &work);
    const int set = made ? 0 : f.set_stream(plan, stream);
    if (made || set) f.destroy(plan);
    check_code(made, "cufftMakePlanMany64", l);
    check_code(set, "cufftSetStream", l);
    plans_.emplace_front(key, plan);
    places_[key] = plans_.begin();
    return plan;
  }
  static void check_code(int code, const char* what, const Lines& l) {
    TORCH_CHECK(code == 0, "cuFFT: ", what, " gave ", name_of(code), " (", code, ") for ", l.batch, " lines of ", l.n,
                " numbers, ", l.stride, " apart; TORCH_CUFFT_LIBRARY= turns cuFFT off");
  }

 private:
  static constexpr size_t kMost = 256;
  std::list<std::pair<Key, Plan>> plans_;  // the last one used first
  std::map<Key, std::list<std::pair<Key, Plan>>::iterator> places_;

  void drop(Plan plan) {
    f.destroy(plan);
    places_.erase(plans_.back().first);
    plans_.pop_back();
  }
};
std::mutex mutex;

// Of the library that is open now; with another one, others.
Plans* plans() {
  void* const found = library("cufft");
  if (!found) return nullptr;
  static auto& all = *new std::map<void*, Plans>;
  const auto at = all.find(found);
  return at != all.end() ? &at->second : &all.emplace(found, found).first->second;
}

}  // namespace

bool transform_by_cufft(const Tensor& from, const Tensor& to, int64_t dim, bool backward) {
  const int64_t n = to.size(dim), inner = to.stride(dim), outer = to.numel() / n / inner;
  if (inner > 1 && outer > 16) return false;
  const std::lock_guard lock(mutex);
  Plans* const all = plans();
  if (!all) return false;
  const int device = to.device().index;
  const DeviceGuard guard(device);
  const bool is_double = to.dtype() == DType::Complex128;
  const Lines lines = inner == 1 ? Lines{n, 1, n, outer} : Lines{n, inner, 1, inner};
  const Plan plan = all->of(device, current_stream(device).handle, is_double ? Z2Z : C2C, lines);
  const int64_t slices = inner == 1 ? 1 : outer, size = n * inner * to.item_size();
  auto* const in = static_cast<char*>(from.data());
  auto* const out = static_cast<char*>(to.data());
  for (int64_t s = 0; s < slices; ++s) {
    const auto run = is_double ? all->f.exec_z2z : all->f.exec_c2c;
    Plans::check_code(run(plan, in + s * size, out + s * size, backward ? Inverse : Forward),
                      is_double ? "cufftExecZ2Z" : "cufftExecC2C", lines);
  }
  return true;
}

}  // namespace torch::cuda
