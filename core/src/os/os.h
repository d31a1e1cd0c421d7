// What the library asks of the operating system, and nowhere else: memory, processors, threads, fork.
//
// posix.cpp has what POSIX gives, linux.cpp the rest. Another system takes a file in place of linux.cpp (macOS: no
// futex, cgroups or affinity), or of both (Windows: VirtualAlloc, WaitOnAddress, no fork); nothing outside of this
// folder includes a header of a system, but for <signal.h> and <time.h>.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace torch::os {

// ---- memory

// Zeroed pages at an address that `alignment` divides; nullptr if there are none. Any part of them can be given back.
char* map(size_t bytes, size_t alignment) noexcept;
void unmap(char* start, size_t bytes) noexcept;

// Advice: one entry of the page table for much of it.
void want_huge_pages(void* start, size_t bytes) noexcept;

// What this process can have at most: memory (and swap) of the machine, or the limit of its control group.
uint64_t memory_total(bool with_swap);

// ---- processors

int affinity_count();      // that this process may run on
double processor_quota();  // how many it may use up on the average, 0 if it has no limit
std::string processor_name();
int64_t first_cache() noexcept;   // of data: bytes, of one processor; 0 if the system does not say
int64_t second_cache() noexcept;  // bytes, of one processor; 0 if the system does not say
bool grant_tiles() noexcept;  // whether this process may use AMX tiles, whose state is saved only for those that ask

// ---- threads

// A detached thread that gets no signals, which are for the threads of the user.
bool start_thread(void* (*main)(void*), void* argument, const char* name) noexcept;

int64_t thread_id() noexcept;
void thread_name(char* name, size_t size) noexcept;

// Sleeps while the word has the value, or until woken; doze_while a tenth of a second at most, where the system can.
void sleep_while(std::atomic<uint32_t>& word, uint32_t value) noexcept;
void doze_while(std::atomic<uint32_t>& word, uint32_t value) noexcept;
void wake(std::atomic<uint32_t>& word, int count) noexcept;

// ---- fork: only the thread that forks lives on in the child

using Handler = void (*)();
void at_fork(Handler before, Handler after_in_parent, Handler after_in_child) noexcept;

}  // namespace torch::os
