// A layer is one function that serves a dispatch key for all operators: where one has no function of its own there, its
// call arrives at the key's layer with the row and its arguments as values. A tracer, for all operators there are:
//
//   set_layer(DispatchKey::Trace, [](const Row& row, const Value* arguments, Result& result) {
//     row.invoke(arguments, result, keys_below(DispatchKey::Trace));
//     graph.add(row, arguments, result);
//   });
//   { Include tracing(DispatchKey::Trace); model(x); }
//
// A call takes the highest key of (keys of its arguments | keys of the process | what its thread includes), less what
// its thread excludes. While a layer runs, its own key is excluded: operators that it calls do not come back to it, and
// a composite is seen as one call. A layer that is to see what a composite calls says Readmit first.
#pragma once
#include <atomic>
#include <utility>

#include "torch/core/row.h"

namespace torch {

// key(DispatchKey::Profile) while a profiler records (profile.h), else 0: of all threads.
TORCH_API extern std::atomic<Keys> profiling_key;
inline Keys mode_keys() noexcept { return profiling_key.load(std::memory_order_relaxed); }

struct ThreadKeys {
  Keys include = 0, exclude = 0;
};
extern TORCH_API constinit thread_local ThreadKeys thread_keys;
inline unsigned keys_of_thread(unsigned keys) noexcept {
  return (keys | thread_keys.include) & ~unsigned(thread_keys.exclude);
}
inline unsigned keys_in_force(unsigned keys) noexcept { return keys_of_thread(keys | mode_keys()); }

// For a scope, this thread's keys are others. However the scope is left, they are what they were.
class KeyScope {
 public:
  explicit KeyScope(ThreadKeys now) noexcept : before_(std::exchange(thread_keys, now)) {}
  ~KeyScope() { thread_keys = before_; }
  KeyScope(const KeyScope&) = delete;

 private:
  ThreadKeys before_;
};
// Calls have the key.
struct Include : KeyScope {
  explicit Include(DispatchKey s) noexcept
      : KeyScope({Keys(thread_keys.include | key(s)), Keys(thread_keys.exclude & ~key(s))}) {}
};
// Calls do not have the key, whatever their arguments are.
struct Exclude : KeyScope {
  explicit Exclude(DispatchKey s) noexcept : KeyScope({thread_keys.include, Keys(thread_keys.exclude | key(s))}) {}
};
// An exclusion is over.
struct Readmit : KeyScope {
  explicit Readmit(DispatchKey s) noexcept : KeyScope({thread_keys.include, Keys(thread_keys.exclude & ~key(s))}) {}
};

// Fills `result` as the row's schema says, or throws. The arguments are borrowed and belong to the caller: a layer that
// wants others passes on a copy of the array.
using Layer = void (*)(const Row& row, const Value* arguments, Result& result);
// The layer before, or null. Functions that operators have at the key themselves go first.
TORCH_API Layer set_layer(DispatchKey at, Layer layer) noexcept;

}  // namespace torch
