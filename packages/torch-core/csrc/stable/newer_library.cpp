// What extensions that were built by newer compilers take from a C++ library that the system may be too old to have.
#include <cstddef>
#include <cstring>
#include <memory>

// A step of std::string::replace that GCC 13 no longer inlines: `count` characters at `at`, behind which `tail` follow,
// become the `length` at `text`, which may lie in the string itself. There is room.
extern "C" __attribute__((visibility("default"))) void replace_within(
    void* string, char* at, size_t count, const char* text, size_t length,
    size_t tail) __asm__("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm");

void replace_within(void*, char* at, size_t count, const char* text, size_t length, size_t tail) {
  const std::unique_ptr<char[]> kept(new char[length]);
  std::memcpy(kept.get(), text, length);
  if (tail != 0 && count != length) std::memmove(at + length, at + count, tail);
  std::memcpy(at, kept.get(), length);
}
