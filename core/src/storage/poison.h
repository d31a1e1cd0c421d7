// Memory that is cached instead of freed is out of sight for AddressSanitizer; these tell it which bytes may be
// touched. In other builds they are nothing.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TORCH_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TORCH_POISON 1
#endif
#endif

#ifdef TORCH_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace torch {

inline void poison([[maybe_unused]] void* p, [[maybe_unused]] size_t bytes) noexcept {
#ifdef TORCH_POISON
  __asan_poison_memory_region(p, bytes);
#endif
}
inline void unpoison([[maybe_unused]] void* p, [[maybe_unused]] size_t bytes) noexcept {
#ifdef TORCH_POISON
  __asan_unpoison_memory_region(p, bytes);
#endif
}
// The first `bytes` of a block of `size` may be used, the rest must not be.
inline void lend_block(void* p, size_t bytes, size_t size) noexcept {
  unpoison(p, bytes);
  poison(static_cast<char*>(p) + bytes, size - bytes);
}

}  // namespace torch
