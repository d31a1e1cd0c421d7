// What every POSIX system has.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "os/os.h"

namespace torch::os {

char* map(size_t bytes, size_t alignment) noexcept {
  const size_t padded = bytes + alignment;
  void* const raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const uintptr_t first = reinterpret_cast<uintptr_t>(raw);
  char* const raw_start = static_cast<char*>(raw);
  char* const start = raw_start + ((first + alignment - 1) / alignment * alignment - first);
  if (start > raw_start) munmap(raw_start, start - raw_start);
  munmap(start + bytes, raw_start + padded - start - bytes);
  return start;
}

void unmap(char* start, size_t bytes) noexcept { munmap(start, bytes); }

void want_huge_pages([[maybe_unused]] void* start, [[maybe_unused]] size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  madvise(start, bytes, MADV_HUGEPAGE);
#endif
}

void thread_name(char* name, size_t size) noexcept { pthread_getname_np(pthread_self(), name, size); }

void at_fork(Handler before, Handler after_in_parent, Handler after_in_child) noexcept {
  pthread_atfork(before, after_in_parent, after_in_child);
}

}  // namespace torch::os
