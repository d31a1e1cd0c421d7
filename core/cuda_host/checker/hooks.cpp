// Files of kernels compiled with -fsanitize=thread call a function for every load and store. Linked without libtsan,
// they find these, which ask by the rules of a GPU instead of those of the CPU.
#include "shadow.h"

namespace {

cuda_host::Shadow& shadow() {
  static auto& made = *new cuda_host::Shadow;
  return made;
}

[[maybe_unused]] const bool listening = [] {
  cuda_host::watcher = {
      .launch = [](const cuda_host::Launch& l) { shadow().launch(l); },
      .thread = [](uint32_t block, uint32_t thread) { shadow().thread(block, thread); },
      .barrier = [] { shadow().barrier(); },
      .warp = [](uint32_t warp, uint32_t mask) { shadow().warp_in_order(warp, mask); },
      .last_block = [] { shadow().last_block(); },
      .end_block = [] { shadow().end_block(); },
      .shared = [](void* p, size_t n) { shadow().add(p, n, 0, true); },
      .allocated = [](void* p, size_t n, int device) { shadow().add(p, n, device, false); },
      .freed = [](void* p) { shadow().remove(p); },
      .written = [](void* p, size_t n) { shadow().written(p, n); },
      .copied = [](void* to, const void* from, size_t n) { shadow().copied(to, from, n); },
  };
  return true;
}();

void plain(const void* p, size_t n, bool store, const void* line) {
  shadow().touch(const_cast<void*>(p), n, store, false, line);
}
void atomic(const volatile void* p, size_t n, bool store, const void* line) {
  shadow().touch(const_cast<void*>(p), n, store, true, line);
}

}  // namespace

namespace cuda_host {
bool& counts_traffic() {
  static bool counts = false;
  return counts;
}
std::vector<Traffic> take_traffic() {
  std::vector<Traffic> all = shadow().requests().all();
  shadow().requests().clear();
  return all;
}
}  // namespace cuda_host

#define LINE __builtin_return_address(0)
#define SIZED(N)                                                       \
  void __tsan_read##N(void* p) { plain(p, N, false, LINE); }           \
  void __tsan_write##N(void* p) { plain(p, N, true, LINE); }           \
  void __tsan_unaligned_read##N(void* p) { plain(p, N, false, LINE); } \
  void __tsan_unaligned_write##N(void* p) { plain(p, N, true, LINE); } \
  void __tsan_volatile_read##N(void* p) { plain(p, N, false, LINE); }  \
  void __tsan_volatile_write##N(void* p) { plain(p, N, true, LINE); }
#define ATOMIC(BITS, T)                                                                            \
  T __tsan_atomic##BITS##_load(const volatile T* p, int) {                                         \
    atomic(p, sizeof(T), false, LINE);                                                             \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##BITS##_store(volatile T* p, T v, int) {                                      \
    atomic(p, sizeof(T), true, LINE);                                                              \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  T __tsan_atomic##BITS##_exchange(volatile T* p, T v, int) {                                      \
    atomic(p, sizeof(T), true, LINE);                                                              \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_add(volatile T* p, T v, int) {                                     \
    atomic(p, sizeof(T), true, LINE);                                                              \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_sub(volatile T* p, T v, int) {                                     \
    atomic(p, sizeof(T), true, LINE);                                                              \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* expected, T v, int, int) {     \
    atomic(p, sizeof(T), true, LINE);                                                              \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* expected, T v, int, int) {   \
    atomic(p, sizeof(T), true, LINE);                                                              \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }

extern "C" {
// clang-format off
SIZED(1) SIZED(2) SIZED(4) SIZED(8) SIZED(16)
ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)
    // clang-format on
    void __tsan_read_range(void* p, size_t n) {
  plain(p, n, false, LINE);
}
void __tsan_write_range(void* p, size_t n) { plain(p, n, true, LINE); }
void __tsan_atomic_thread_fence(int) {}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
