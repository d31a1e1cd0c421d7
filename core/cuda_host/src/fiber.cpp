#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#error "cuda_host_switch: save what a callee keeps, exchange stacks, restore; written only for x86-64"
#endif
// The last instruction is a jump: where a return goes to another stack, it is never predicted.
extern "C" void cuda_host_switch(void** save, void* to);
asm(R"(.text
.globl cuda_host_switch
.hidden cuda_host_switch
.type cuda_host_switch, @function
cuda_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size cuda_host_switch, .-cuda_host_switch
)");

namespace cuda_host {

namespace {
constexpr size_t kStack = 64 << 10, kPage = 4096, kSaved = 6;  // registers below the address to go on at
}

Fiber::Fiber(void (*entry)(), size_t number)
    : memory_(static_cast<char*>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
      size_(kStack),
      owned_(true) {
  mprotect(memory_, kPage, PROT_NONE);
  void** top = reinterpret_cast<void**>(memory_ + kStack - number * 448 % 16384);
  top[-2] = reinterpret_cast<void*>(entry);
  top_ = top - 2 - kSaved;
}
Fiber::~Fiber() {
  if (owned_) munmap(memory_, size_);
}

#if defined(__SANITIZE_ADDRESS__)
void Fiber::enter() {
  pthread_attr_t attributes;
  void* bottom = nullptr;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &bottom, &size_);
  pthread_attr_destroy(&attributes);
  memory_ = static_cast<char*>(bottom);
}
void Fiber::entered() { __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr); }
void Fiber::leave_for() { __sanitizer_start_switch_fiber(nullptr, memory_, size_); }
void Fiber::arrived() { __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr); }
void switch_fibers(Fiber& from, Fiber& to) {
  __sanitizer_start_switch_fiber(&from.fake_, to.memory_, to.size_);
  cuda_host_switch(&from.top_, to.top_);
  __sanitizer_finish_switch_fiber(from.fake_, nullptr, nullptr);
}
#else
void Fiber::enter() {}
void Fiber::entered() {}
void Fiber::leave_for() {}
void Fiber::arrived() {}
void switch_fibers(Fiber& from, Fiber& to) { cuda_host_switch(&from.top_, to.top_); }
#endif

}  // namespace cuda_host
