#include "levels/caches.h"

#include <algorithm>

#include "os/os.h"

namespace torch {

namespace {
constexpr int64_t kUsualSecond = 1 << 20;
}

int64_t second_cache() noexcept {
  static const int64_t there = os::second_cache();
  return there == 0 ? kUsualSecond : there;
}

int64_t part_of_second_cache(int64_t bytes) noexcept {
  constexpr int64_t kLeast = 256 << 10;
  return bytes * std::clamp(second_cache(), kLeast, kUsualSecond) / kUsualSecond;
}

int64_t part_of_first_cache(int64_t bytes) noexcept {
  constexpr int64_t kUsual = 32 << 10;
  static const int64_t there = os::first_cache();
  return there == 0 ? bytes : bytes * std::clamp(there, kUsual / 2, 4 * kUsual) / kUsual;
}

}  // namespace torch
