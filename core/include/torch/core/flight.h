// Operators in flight: those that run on a thread which has given Python's lock back, so that others go on meanwhile.
//
// A program may use one model in several threads without any order between them. A race then gives a wrong number, and
// never a crash, by these rules:
//
//   what a kernel reads of its tensors     sizes, strides and memory, stays while it is in flight: whoever changes it
//   (set_, .data =, resize_, out=)         holds the lock and waits until nothing is in flight (wait_for_flights in
//                                          torch/python/api.h).
//   what a thread in flight changes        the node of a tensor that is changed in place, or of a view that follows its
//                                          base: the old one is freed when nothing is in flight (keep_for_flights), so
//                                          that whoever has just read its address may still use it.
//   who takes the lock in the midst        (hooks, the end of a tensor that Python knows) is not in flight until it has
//                                          given the lock back.
//   a backward pass                        steps aside between two nodes while a thread waits; operators that begin
//                                          meanwhile keep the lock.
//
// A waiting thread does not hold the lock, and no thread in flight waits for a waiting one: no deadlock. A program of
// one thread never finds anything in flight and pays for one addition where it gives the lock back.
#pragma once
#include <atomic>

#include "torch/core/macros.h"
#include "torch/core/tensor.h"

namespace torch::flight {

extern TORCH_API std::atomic<int> count;    // threads in flight
extern TORCH_API std::atomic<int> waiting;  // threads that wait until there are none

inline bool any() noexcept { return count.load(std::memory_order_acquire) != 0; }
inline bool is_awaited() noexcept { return waiting.load(std::memory_order_relaxed) != 0; }

// Of this thread. It enters with the lock, which it gives back then, and leaves before it asks for the lock.
TORCH_API void enter() noexcept;
TORCH_API bool leave() noexcept;  // false: it was not in flight

// Returns when nothing is in flight, or after a while. Without the lock.
TORCH_API void wait() noexcept;
// Returns when no thread waits any more, or after a while. Neither in flight nor with the lock.
TORCH_API void step_aside() noexcept;
// For a backward pass between two nodes: set by torch._C, which has the lock to take.
extern TORCH_API void (*pause)() noexcept;

// Takes over a reference, to be given back when nothing is in flight.
TORCH_API void keep_for_flights(AutogradMeta*);
// Frees what was kept, if nothing is in flight. With the lock.
TORCH_API void free_kept() noexcept;

}  // namespace torch::flight
