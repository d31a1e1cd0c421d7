#include "torch/core/allocator.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check.h"

using namespace torch;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

namespace {

constexpr size_t kMiB = size_t{1} << 20;

long resident_mib() {
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE) / static_cast<long>(kMiB);
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

void blocks_are_aligned_and_usable() {
  for (size_t bytes = 1; bytes < 64 * kMiB; bytes = bytes * 5 / 3 + 1) {
    auto* block = static_cast<char*>(allocate(bytes));
    CHECK_EQ(reinterpret_cast<uintptr_t>(block) % kAlignment, 0u);
    block[0] = block[bytes - 1] = 1;
    deallocate(block, bytes);
  }
  CHECK(allocate(0) == nullptr);
  deallocate(nullptr, 0);
}

void a_freed_result_is_reused_without_page_faults() {
  const size_t bytes = 40'000'000;
  void* block = allocate(bytes);
  std::memset(block, 1, bytes);
  deallocate(block, bytes);
  const uint64_t hits = memory_stats().hits;
  const long faults = page_faults();
  for (int i = 0; i < 20; ++i) {
    block = allocate(bytes);
    std::memset(block, 1, bytes);
    deallocate(block, bytes);
  }
  CHECK_EQ(memory_stats().hits, hits + 20);
  CHECK(page_faults() - faults < 20);
}

// Blocks are filled with their own number and looked at again before they are freed: none may overlap another.
void live_blocks_never_overlap(unsigned seed) {
  struct Block {
    uint64_t* data;
    size_t bytes;
    uint64_t tag;
  };
  std::mt19937_64 random(seed);
  std::vector<Block> live;
  size_t total = 0;
  for (uint64_t step = 0; step < 3000; ++step) {
    if (live.empty() || (total < 200 * kMiB && random() % 2)) {
      const size_t bytes = 8 + (size_t{1} << (random() % 24)) + random() % 5000;
      auto* data = static_cast<uint64_t*>(allocate(bytes));
      data[0] = data[bytes / 8 - 1] = data[bytes / 16] = step + seed;
      live.push_back({data, bytes, step + seed});
      total += bytes;
    } else {
      std::swap(live[random() % live.size()], live.back());
      const Block block = live.back();
      live.pop_back();
      CHECK_EQ(block.data[0], block.tag);
      CHECK_EQ(block.data[block.bytes / 16], block.tag);
      CHECK_EQ(block.data[block.bytes / 8 - 1], block.tag);
      deallocate(block.data, block.bytes);
      total -= block.bytes;
    }
  }
  for (const Block& block : live) deallocate(block.data, block.bytes);
}

void one_thread_in_random_order() {
  const uint64_t before = memory_stats().in_use;
  live_blocks_never_overlap(1);
  CHECK_EQ(memory_stats().in_use, before);
}

void several_threads_at_once() {
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed)
    threads.emplace_back([seed] { live_blocks_never_overlap(seed * 1'000'000); });
  threads.emplace_back([] {
    for (int i = 0; i < 20; ++i) empty_cache();
  });
  for (auto& thread : threads) thread.join();
}

void sizes_that_cannot_be_are_errors() {
  CHECK_THROWS(allocate(SIZE_MAX), OutOfMemory, "tried to allocate 18446744073709551615 bytes");
  CHECK_THROWS(allocate(size_t{1} << 50), OutOfMemory, "tried to allocate 1125899906842624 bytes");
  void* block = allocate(kMiB);
  CHECK(block != nullptr);
  deallocate(block, kMiB);
}

void held_memory_is_limited_and_can_be_given_back() {
  empty_cache();
  CHECK_EQ(memory_stats().held, 0u);
  const uint64_t limit = memory_stats().limit;
  set_memory_limit(50 * kMiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(20 * kMiB));
  for (void* block : blocks) deallocate(block, 20 * kMiB);
  CHECK(memory_stats().held <= 50 * kMiB);
  void* block = allocate(5000);
  deallocate(block, 5000);
  CHECK(memory_stats().held >= 5000);
  empty_cache();
  CHECK_EQ(memory_stats().held, 0u);
  set_memory_limit(limit);
}

// Rising sizes never fit into what was freed before: the earlier blocks must go, not pile up.
void memory_of_other_sizes_does_not_pile_up() {
  empty_cache();
  const long before = resident_mib();
  for (int i = 1; i <= 40; ++i) {
    const size_t bytes = size_t(i) * 5 * kMiB;
    void* block = allocate(bytes);
    std::memset(block, 1, bytes);
    deallocate(block, bytes);
  }
  CHECK(resident_mib() - before < 200 * 5 / 4 + 64 + 20);
  empty_cache();
  CHECK(resident_mib() - before < 20);
}

void the_peak_is_counted() {
  reset_peak_memory();
  const MemoryStats before = memory_stats();
  void* block = allocate(3 * kMiB);
  deallocate(block, 3 * kMiB);
  const MemoryStats after = memory_stats();
  CHECK_EQ(after.peak_in_use, before.in_use + 3 * kMiB);
  CHECK_EQ(after.in_use, before.in_use);
  CHECK_EQ(after.allocations, before.allocations + 1);
}

void a_forked_child_allocates_while_other_threads_do() {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      deallocate(allocate(200'000), 200'000);
      deallocate(allocate(9'000), 9'000);
    }
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      deallocate(allocate(300'000), 300'000);
      deallocate(allocate(9'000), 9'000);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}

void measure() {
  for (size_t bytes : {5'000, 100'000, 500'000, 4'000'000, 40'000'000}) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100000; ++i) deallocate(allocate(bytes), bytes);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    std::printf("%9zu bytes: %.0f ns\n", bytes, spent.count() * 1e4);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--measure") == 0) return measure(), 0;
  RUN(blocks_are_aligned_and_usable);
  RUN(a_freed_result_is_reused_without_page_faults);
  RUN(one_thread_in_random_order);
  RUN(several_threads_at_once);
  RUN(sizes_that_cannot_be_are_errors);
  RUN(held_memory_is_limited_and_can_be_given_back);
#ifndef SANITIZED  // whose own memory counts as resident
  RUN(memory_of_other_sizes_does_not_pile_up);
#endif
  RUN(the_peak_is_counted);
  RUN(a_forked_child_allocates_while_other_threads_do);
  return test::result();
}
