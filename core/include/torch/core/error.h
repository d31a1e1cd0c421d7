// Errors carry the class that Python users catch. A message names the operator, what was expected, what came (in the
// caller's own values) and the way out: `matmul: last dim of self (3, 4) must equal first dim of other (5, 6)`.
#pragma once
#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "torch/core/macros.h"

namespace torch {

enum class ErrorKind : uint8_t { Runtime, Index, Type, Value, NotImplemented, OutOfMemory, Overflow, LinAlg };

class TORCH_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

[[noreturn]] TORCH_API void throw_error(ErrorKind kind, std::string message);

// How messages show a value: as streams do, but a tensor by its shape and dtype (tensor.h).
template <class T>
void show_in_message(std::ostream& out, const T& value) {
  out << value;
}

namespace detail {
struct Word {
  const void* value;
  void (*show)(std::ostream&, const void*);
};
TORCH_API std::string join_words(const Word* words, size_t count);
template <class T>
void show_word(std::ostream& out, const void* value) {
  show_in_message(out, *static_cast<const T*>(value));
}
// One function for each sequence of types, whatever the texts between them are: the messages were a tenth of the
// library when each had its own.
template <class... Args>
TORCH_NOINLINE std::string join(const Args&... args) {
  const Word words[] = {{&args, &show_word<Args>}...};
  return join_words(words, sizeof...(Args));
}
inline const char* without_length(const char* text) noexcept { return text; }
template <class T>
const T& without_length(const T& value) noexcept {
  return value;
}
}  // namespace detail

// Joins its arguments; used only on the way to an error.
template <class... Args>
TORCH_INLINE std::string message(const Args&... args) {
  return detail::join(detail::without_length(args)...);
}

}  // namespace torch

// The arguments after the condition are joined into the message and evaluated only on failure; without any, the
// condition itself is the message.
#define TORCH_WORDS(cond, ...) TORCH_WORDS_##__VA_OPT__(GIVEN)(cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WORDS_(cond) "expected " cond
#define TORCH_WORDS_GIVEN(cond, ...) __VA_ARGS__
#define TORCH_CHECK_KIND(kind, cond, ...)                                                                              \
  do {                                                                                                                 \
    if (TORCH_UNLIKELY(!(cond)))                                                                                       \
      ::torch::throw_error(::torch::ErrorKind::kind, ::torch::message(TORCH_WORDS(#cond __VA_OPT__(, ) __VA_ARGS__))); \
  } while (0)
#define TORCH_CHECK(cond, ...) TORCH_CHECK_KIND(Runtime, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK_KIND(Index, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK_KIND(Type, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK_KIND(Value, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_IMPLEMENTED(cond, ...) TORCH_CHECK_KIND(NotImplemented, cond __VA_OPT__(, ) __VA_ARGS__)
