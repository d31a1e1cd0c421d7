// What the profiler's files share: the records that threads write.
//
// A buffer is a list of chunks of 64-bit words. Only its thread appends: it writes a record and then publishes the
// chunk's new length. A chunk that has a successor is never written again, so that a reader may free it.
//
//   begin    head, ticks, name, sequence, then text, arguments, stack   its serial number: how many begins came before
//   end      head with the serial number and thread of its begin, ticks, sequence
//   memory   head, ticks, bytes, address
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/memory.h"
#include "torch/core/profile.h"

namespace torch::profile {

static_assert(kMemoryWanted == kMemory);

enum class Record : uint8_t { Operator, Backward, Named, End, Memory };  // Operator, Backward: `name` is a Schema*

// Bits of a head. Begin: kind 0-3, scope 4-7, words of arguments 8-23, of stack 24-31, of text 32-47.
// End: kind 0-3, thread 4-31, serial 32-63.
constexpr int kScopeBit = 4, kArgumentsBit = 8, kStackBit = 24, kTextBit = 32, kThreadBit = 4, kSerialBit = 32;
constexpr uint64_t kMaxArgumentWords = 65535, kMaxTextWords = 65535;

struct Chunk {
  std::atomic<Chunk*> next{nullptr};
  std::atomic<uint32_t> used{0};
  uint32_t capacity;      // words
  uint32_t first_serial;  // of the first begin in it
  uint64_t* words() noexcept { return reinterpret_cast<uint64_t*>(this + 1); }
};

struct Buffer {
  uint32_t number;
  int64_t system_id;
  std::string name;        // of the thread
  Chunk* first = nullptr;  // the reader's
  Chunk* tail = nullptr;   // the writer's
  uint32_t serial = 0;     // the writer's: of the next begin
  std::atomic<bool> ended{false};
};

// Of the begin with this serial number: the head of its end.
constexpr Handle handle_of(uint32_t serial, uint32_t thread) noexcept {
  return uint64_t(serial) << kSerialBit | uint64_t(thread) << kThreadBit | uint64_t(Record::End);
}

uint64_t ticks() noexcept;
void fill_functions() noexcept;  // profile/calls.cpp

// read.cpp: events of one session out of the buffers, whose list the caller holds.
struct Clock {  // nanoseconds = ns + (ticks - tick) * rate
  uint64_t tick;
  double rate;
};
void read(const std::vector<Buffer*>& buffers, uint64_t from, uint64_t to, const Clock& clock, Recording& into);

}  // namespace torch::profile
