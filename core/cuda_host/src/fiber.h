// A stack of its own, between which and others a thread of the machine changes in a few nanoseconds.
#pragma once
#include <cstddef>

namespace cuda_host {

class Fiber {
 public:
  Fiber() = default;  // the stack of the caller: enter() first
  // `entry` begins with entered() and never returns. Stacks of different `number` begin at different lines of the
  // cache.
  Fiber(void (*entry)(), size_t number);
  ~Fiber();
  Fiber(const Fiber&) = delete;

  bool holds(const void* p) const noexcept { return p >= memory_ && p < memory_ + size_; }
  friend void switch_fibers(Fiber& from, Fiber& to);

  // What AddressSanitizer wants to know; empty without it.
  void enter();  // this is the caller's stack now
  static void entered();
  void leave_for();  // a fault jumps back to this stack,
  void arrived();    // and is here

 private:
  char* memory_ = nullptr;
  size_t size_ = 0;
  void* top_ = nullptr;
  [[maybe_unused]] void* fake_ = nullptr;  // AddressSanitizer's own stack
  bool owned_ = false;
};

void switch_fibers(Fiber& from, Fiber& to);

}  // namespace cuda_host
