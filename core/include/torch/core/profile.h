// What a profiler sees: when operators, backward nodes and ranges of the user's began and ended, on all threads, and
// the memory that tensors took and gave back.
//
//   uint64_t s = profile::start(profile::kShapes | profile::kMemory);
//   { profile::Range range("epoch"); train(); }
//   profile::Recording r = profile::stop(s);
//
// While nothing is recorded, an operator pays for one OR with a word of memory, and a storage for one branch. During
// a recording every call has the key Profile, whose function notes the begin, runs the operator through the keys below
// and notes the end. Each thread writes to a buffer of its own, without locks; stop() reads them all while others may
// still write. Sessions may overlap on any threads: each gets what happened between its start and its stop.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "torch/core/operator.h"

namespace torch::profile {

enum Wants : uint32_t { kShapes = 1, kMemory = 2, kStacks = 4, kDevice = 8 };  // beyond begins and ends

// Numbers as PyTorch's RecordScope.
enum class Scope : uint8_t { Function = 0, Backward = 1, User = 7 };

inline bool on() noexcept { return TORCH_UNLIKELY((mode_keys() & key(DispatchKey::Profile)) != 0); }

// --- noting ---

using Handle = uint64_t;  // of a range that is open; 0 is none
constexpr int64_t kNoSequence = -1;

// Each returns 0 when nothing is recorded, or when the memory for records is used up (Recording::dropped).
TORCH_API Handle begin(Scope, std::string_view name, int64_t sequence = kNoSequence) noexcept;
TORCH_API Handle begin_backward(const Schema& of, int64_t sequence) noexcept;     // named MulBackward0
TORCH_API Handle begin(const Schema& op, const void* const* arguments) noexcept;  // one address per parameter
TORCH_API void end(Handle) noexcept;                                              // on any thread

// A range of the user's, shown under its name.
class Range {
 public:
  explicit Range(std::string_view name) noexcept : handle_(on() ? begin(Scope::User, name) : 0) {}
  explicit Range(Handle h) noexcept : handle_(h) {}
  ~Range() {
    if (TORCH_UNLIKELY(handle_ != 0)) end(handle_);
  }
  Range(const Range&) = delete;

 private:
  Handle handle_;
};

// --- reading ---

struct Event {
  uint32_t name;    // index into Recording::names
  uint32_t thread;  // Thread::number
  Scope scope;
  bool is_open;        // had not ended when the session did, which stands as its end
  bool is_async;       // ended on another thread
  int64_t start, end;  // nanoseconds since the session's start
  int64_t self;        // of these, without what ran inside
  int64_t parent;      // index of the event around it on its thread, or -1
  int64_t sequence;    // of the node that a forward operator made or that a backward event ran, or -1
  int64_t forward;     // of a backward event: index of the event that made its node, or -1
  int64_t bytes;       // taken less given back, with what ran inside
  int64_t self_bytes;
  uint32_t arguments, argument_words;  // into Recording::words: see Argument
  uint32_t stack, stack_words;         // into Recording::words: what capture_stack wrote
  Handle handle;                       // as mark_device got it
};
struct Memory {
  int64_t time, bytes;  // bytes < 0: given back
  uint64_t address;
  uint32_t thread;
  int64_t event;  // innermost one around it, or -1
};
struct Thread {
  uint32_t number;
  int64_t system_id;
  std::string name;
};
struct Recording {
  std::vector<std::string> names;
  std::vector<Event> events;  // by thread, then by start
  std::vector<Memory> memory;
  std::vector<Thread> threads;
  std::vector<uint64_t> words;
  int64_t duration = 0;    // nanoseconds
  int64_t wall_start = 0;  // nanoseconds since 1970
  uint64_t dropped = 0;    // ranges that were not noted for want of memory
};

// An argument in `words`: a head, and what it counts.
enum class Argument : uint8_t { None, Tensor, TensorList, Int, IntList, Bool, Float, Complex, Other };
constexpr uint64_t argument_head(Argument kind, DType dtype, uint64_t count) noexcept {
  return uint64_t(kind) | uint64_t(dtype) << 8 | count << 16;  // count: dims, tensors or ints
}

TORCH_API uint64_t start(uint32_t wants);
// What was recorded since start(). A forked child stops recording; its copies of sessions end with the fork.
TORCH_API Recording stop(uint64_t session);
TORCH_API void set_limit(uint64_t bytes) noexcept;  // of records that are held; 256 MiB at first, five million ranges

// --- seams, null where there is nothing to ask ---

TORCH_API extern uint64_t (*next_sequence)() noexcept;  // of the next node made on this thread; ~0: none is recorded
constexpr int kStackWords = 64;
TORCH_API extern int (*capture_stack)(uint64_t words[kStackWords]) noexcept;  // how many were written
// Of a plug-in, for sessions that want kDevice: a range begins or ends on this thread.
TORCH_API extern void (*mark_device)(Handle, bool ends) noexcept;

}  // namespace torch::profile
