// Denormal numbers as zero: bits of a thread's control register.
#include "torch/core/cpu.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace torch {

namespace {

#if defined(__x86_64__)
using Control = unsigned;
constexpr Control kFlush = 0x8040;  // MXCSR: FTZ, results; DAZ, arguments
Control control() noexcept { return _mm_getcsr(); }
void set_control(Control bits) noexcept { _mm_setcsr(bits); }
#elif defined(__aarch64__)
using Control = unsigned long;
constexpr Control kFlush = 1ul << 24;  // FPCR: FZ, both
Control control() noexcept {
  Control bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
void set_control(Control bits) noexcept { asm volatile("msr fpcr, %0" : : "r"(bits)); }
#else
using Control = unsigned;
constexpr Control kFlush = 0;
Control control() noexcept { return 0; }
void set_control(Control) noexcept {}
#endif

}  // namespace

bool flushes_denormals() noexcept { return (control() & kFlush) != 0; }

bool flush_denormals(bool flush) noexcept {
  if (kFlush == 0) return false;
  set_control(flush ? control() | kFlush : control() & ~kFlush);
  return true;
}

}  // namespace torch
