// What keeps the library loading with a glibc older than the one that it was built with.
//
// glibc 2.35 gave hypot and hypotf a second version, which does not set errno, and nothing else here asks for more than
// glibc 2.34 (that of RHEL 9). The linker sends their calls here (--wrap, in CMakeLists.txt).
#include <cmath>

extern "C" {

#if defined(__GLIBC__) && defined(__x86_64__)
double torch_first_hypot(double x, double y);
__asm__(".symver torch_first_hypot, hypot@GLIBC_2.2.5");
#else
double __real_hypot(double x, double y);
#define torch_first_hypot __real_hypot
#endif

double __wrap_hypot(double x, double y) { return torch_first_hypot(x, y); }

// As glibc has it; squares of floats are exact in double and do not overflow there.
float __wrap_hypotf(float x, float y) {
  if (std::isinf(x) || std::isinf(y)) return INFINITY;
  return float(std::sqrt(double(x) * x + double(y) * y));
}
}
