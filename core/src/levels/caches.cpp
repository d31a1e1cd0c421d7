#include "levels/caches.h"

#include <algorithm>

#include "os/os.h"

namespace torch {

int64_t part_of_second_cache(int64_t bytes) noexcept {
  constexpr int64_t kUsual = 1 << 20, kLeast = 256 << 10;
  static const int64_t there = os::second_cache();
  return there == 0 ? bytes : bytes * std::clamp(there, kLeast, kUsual) / kUsual;
}

int64_t part_of_first_cache(int64_t bytes) noexcept {
  constexpr int64_t kUsual = 32 << 10;
  static const int64_t there = os::first_cache();
  return there == 0 ? bytes : bytes * std::clamp(there, kUsual / 2, 4 * kUsual) / kUsual;
}

}  // namespace torch
