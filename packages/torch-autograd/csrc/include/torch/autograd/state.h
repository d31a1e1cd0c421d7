// What belongs to a thread: whether operations are recorded, and the node that is being run.
#pragma once
#include <cstddef>
#include <cstdint>

#include "torch/core/macros.h"

namespace torch::autograd {

struct Node;
struct Running;
struct SavedHooks;

struct ThreadState {
  bool grad_mode = true;
  bool inference_mode = false;
  bool multithreading = true;
  bool recorded = false;              // grad_mode is off because a recorded operator runs, not because the user said so
  uint64_t sequence = 0;              // of the next node made here: later nodes run first in backward
  Running* running = nullptr;         // the node whose derivative is being computed
  SavedHooks* saved_hooks = nullptr;  // pack and unpack of saved tensors, innermost first
  void* locations = nullptr;          // a cache of the Python module's, from open_thread_cache()
};
extern TORCH_API constinit thread_local ThreadState thread_state;

// Zeros that end with the thread, for one member above; null when the thread is ending. Thread-local storage itself is
// scarce: libraries that are loaded at run time share some 1,600 bytes of it in a process.
TORCH_API void* open_thread_cache(void* ThreadState::* member, size_t bytes) noexcept;

// Not in inference mode, whatever is set inside it.
inline bool grad_enabled() noexcept { return thread_state.grad_mode && !thread_state.inference_mode; }

// Sets the mode for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) noexcept : before_(thread_state.grad_mode) { thread_state.grad_mode = enabled; }
  ~GradMode() { thread_state.grad_mode = before_; }
  GradMode(const GradMode&) = delete;

 private:
  bool before_;
};

// While what stands below Autograd runs for an operator that is being recorded.
class BelowRecorded {
 public:
  BelowRecorded() noexcept : mode_(false), before_(thread_state.recorded) { thread_state.recorded = true; }
  ~BelowRecorded() { thread_state.recorded = before_; }

 private:
  GradMode mode_;
  bool before_;
};

// Anomaly mode: nodes remember the Python stack that made them, and gradients are checked for nan.
struct AnomalyMode {
  bool enabled = false, check_nan = true;
};
extern TORCH_API AnomalyMode anomaly_mode;

// Where in the user's program something happened: an index of a code object and an instruction in it, packed by the
// Python module; 0 is unknown.
using Location = uint32_t;

}  // namespace torch::autograd
