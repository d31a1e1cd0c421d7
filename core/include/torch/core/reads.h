// Who wants to know when elements of a tensor become numbers of the program that runs: a recording, in which such a
// number would be a constant. Operators that are recorded whole do not tell.
#pragma once
#include <atomic>

#include "torch/core/tensor.h"

namespace torch {

// A tensor where an operator takes a number, or an index an int: who records may have a value that stands for it.
inline constexpr const char* kReadAsNumber = "number of a tensor";
inline constexpr const char* kReadAsIndex = "an index of a tensor";

// `what` asked: one of those, or a name that users know ("item"). Null while nothing listens.
using ValueWatcher = void (*)(const Tensor& t, const char* what);
TORCH_API extern std::atomic<ValueWatcher> value_watcher;

inline void value_is_read(const Tensor& t, const char* what) {
  if (ValueWatcher f = value_watcher.load(std::memory_order_relaxed); TORCH_UNLIKELY(f != nullptr)) f(t, what);
}

// The int that was just read is an argument: the parameter that it is for, or, with a `count`, so many places of a list
// that it fills. So who records can tell it from an equal one that was written out. Of an index, several calls may
// follow.
inline constexpr int64_t kOfIndex = -1;
using PlaceWatcher = void (*)(const void* place, int64_t count);
TORCH_API extern std::atomic<PlaceWatcher> place_watcher;

inline void int_is_placed(const void* place, int64_t count = 0) {
  if (PlaceWatcher f = place_watcher.load(std::memory_order_relaxed); TORCH_UNLIKELY(f != nullptr)) f(place, count);
}

}  // namespace torch
