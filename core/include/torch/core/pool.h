// The one thread pool of the process: sized by affinity mask and cgroup quota, rebuilt in a forked child, shared by
// every kernel and by OpenBLAS. Work is cut only by the shape of the problem, never by the number of threads, so that
// results have the same bits for any number of threads.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "torch/core/macros.h"

namespace torch {

// A non-owning reference to a callable; lives no longer than the call it is passed to.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, FunctionRef>)
  FunctionRef(F&& f) noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))), call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Runs task(0) ... task(count - 1), each exactly once, on up to num_threads() threads; the caller takes part. Returns
// when all are done. An exception thrown by a task is rethrown here after the others have ended. Nested calls run in
// the calling thread.
TORCH_API void parallel_run(int64_t count, FunctionRef<void(int64_t task)> task);

// Cuts [0, n) into pieces of `grain` (the last one may be shorter) and runs f(begin, end) over them. With n <= grain it
// is a plain call. Pieces depend only on n and grain.
TORCH_API void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> f);

TORCH_API int num_threads() noexcept;
TORCH_API void set_num_threads(int threads);  // >= 1, else ErrorKind::Value
TORCH_API bool in_parallel_region() noexcept;

}  // namespace torch
