#include "torch/core/error.h"

namespace torch {

std::string detail::join_words(const Word* words, size_t count) {
  std::ostringstream out;
  for (size_t i = 0; i < count; ++i) words[i].show(out, words[i].value);
  return out.str();
}

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

}  // namespace torch
