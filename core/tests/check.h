// The assertions of the C++ tests. A test program runs its cases in main() and ends with `return
// torch::test::result();`.
//
//   CHECK(x > 0);                                   prints the text, file and line when false, and goes on
//   CHECK_EQ(a, b);  CHECK_NEAR(a, b, 1e-6);        print both values
//   CHECK_THROWS(f(), Value, "expected ... but");   f must throw torch::Error of that kind, with that piece of text
//   RUN(test_name);                                 runs a case, names it when something in it fails
#pragma once
#include <cmath>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>

#include "torch/core/error.h"

namespace torch::test {

inline int failures = 0;

inline void fail(const char* file, int line, const std::string& what) {
  ++failures;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

template <class A, class B>
void check_eq(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::ostringstream out;
  out << "CHECK_EQ(" << text << "): " << a << " is not " << b;
  fail(file, line, out.str());
}

inline void check_near(double a, double b, double tolerance, const char* text, const char* file, int line) {
  if (std::abs(a - b) <= tolerance || (std::isnan(a) && std::isnan(b)) || a == b) return;
  std::ostringstream out;
  out.precision(17);
  out << "CHECK_NEAR(" << text << "): " << a << " and " << b << " differ by more than " << tolerance;
  fail(file, line, out.str());
}

template <class F>
void check_throws(F&& f, ErrorKind kind, const std::string& piece, const char* text, const char* file, int line) {
  try {
    f();
  } catch (const Error& error) {
    if (error.kind() != kind) fail(file, line, std::string(text) + " threw another kind of error: " + error.what());
    if (std::string(error.what()).find(piece) == std::string::npos)
      fail(file, line, std::string(text) + " says \"" + error.what() + "\", without \"" + piece + "\"");
    return;
  } catch (const std::exception& error) {
    return fail(file, line, std::string(text) + " threw something that is no torch::Error: " + error.what());
  }
  fail(file, line, std::string(text) + " did not throw");
}

template <class F>
void run(F&& f, const char* name) {
  const int before = failures;
  try {
    f();
  } catch (const std::exception& error) {
    fail(name, 0, std::string("unexpected exception: ") + error.what());
  }
  if (failures != before) std::fprintf(stderr, "FAILED %s\n", name);
}

inline int result() { return failures == 0 ? 0 : 1; }

}  // namespace torch::test

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) ::torch::test::fail(__FILE__, __LINE__, "CHECK(" #condition ") failed"); \
  } while (0)
#define CHECK_EQ(a, b) ::torch::test::check_eq((a), (b), #a ", " #b, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) ::torch::test::check_near((a), (b), (tolerance), #a ", " #b, __FILE__, __LINE__)
#define CHECK_THROWS(expression, kind, piece)                                                                      \
  ::torch::test::check_throws([&] { (void)(expression); }, ::torch::ErrorKind::kind, piece, #expression, __FILE__, \
                              __LINE__)
#define RUN(function) ::torch::test::run(function, #function)
