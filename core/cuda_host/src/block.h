// One block of a launch: which of its threads runs, who waits for whom.
//
//   the next of `ready` runs ─> it returns, or waits at a barrier or in a warp
//              └────── whoever comes last makes the others ready ──────┘
//
// A fiber whose thread has returned takes the next fresh thread without a switch: threads that never wait cost a call.
#pragma once
#include <csetjmp>
#include <memory>
#include <vector>

#include "fiber.h"
#include "watcher.h"

namespace cuda_host {

struct Abort {};  // thrown through the threads of a kernel that has failed

class Block {
 public:
  Block();
  ~Block();

  void begin(const Launch&, const Body&, uint64_t seed);  // and its blocks, one by one:
  void run(uint3 index);
  void end() { running_ = false; }

  bool running() const noexcept { return running_; }
  bool on_stack(const void* p) const noexcept { return current_ && current_->fiber->holds(p); }
  int lane() const noexcept { return current_->index % kWarp; }

  // What the current thread calls.
  void barrier(Line);
  void meet(uint32_t mask, Finish, void* record, bool ordered, Line);
  void* shared_block(const void* key, size_t bytes, size_t alignment, Line);
  void* dynamic_shared(Line);
  [[noreturn]] void fail(int error, const std::string& what, Line);
  [[noreturn]] void fault(const std::string& what);  // from the handler of a signal

 private:
  enum class State : uint8_t { Fresh, Ready, Running, Barrier, Warp, Done };
  struct Thread;
  struct Stack : Fiber {
    using Fiber::Fiber;
    Thread* thread = nullptr;
  };
  struct Thread {
    Stack* fiber = nullptr;
    Finish finish = nullptr;
    void* record = nullptr;
    Line line;
    uint32_t mask = 0;
    uint16_t index = 0;
    State state = State::Fresh;
  };
  struct Shared {
    const void* key;
    size_t offset;
  };

  static void fiber_main();
  Fiber& next_fiber();
  void make_ready(Thread&);
  void make_ready_first(Thread&);
  void enter(Thread&);
  void wait(Thread&);
  void release_barrier();
  void finished(Thread&);
  void give_up_fibers();
  std::string stuck() const;
  std::string where_now(Line) const;
  uint64_t random() { return seed_ ^= seed_ << 13, seed_ ^= seed_ >> 7, seed_ ^= seed_ << 17; }

  Fiber main_;
  std::vector<std::unique_ptr<Stack>> stacks_;
  std::vector<Stack*> idle_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> in_warp_;  // lanes of each warp that wait in a collective
  std::vector<uint3> indices_;     // of the threads of a block
  std::vector<uint16_t> ready_;
  size_t next_ = 0;  // of ready_
  std::vector<Shared> shared_blocks_;
  char* shared_;
  size_t shared_used_ = 0;
  const Launch* launch_ = nullptr;
  const Body* body_ = nullptr;
  Thread* current_ = nullptr;
  unsigned alive_ = 0, arrived_ = 0;
  Line barrier_line_;
  bool aborting_ = false, running_ = false;
  dim3 indexed_{0, 0, 0};
  uint64_t seed_ = 0;
  sigjmp_buf recover_;
};

Block& the_block();

// The error of a kernel, which stays: errors.cpp.
void record_error(int code, const std::string& text);
int kernel_error() noexcept;
std::string where(const Line&);

}  // namespace cuda_host
