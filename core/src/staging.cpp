#include "staging.h"

namespace torch {

ConvertPath convert_path(DType from, DType to) noexcept {
  const Staging& s = staging();
  ConvertPath path;
  auto go = [&](DType next) {
    path.step[path.count] = s.convert[int(next)][int(from)];
    path.gives[path.count++] = next;
    from = next;
  };
  while (from != to) {
    if (s.convert[int(to)][int(from)])
      go(to);
    else if (is_complex(from))
      go(real_of(from));
    else if (is_reduced_floating(from))
      go(DType::Float32);
    else if (is_complex(to) && from != real_of(to))
      s.convert[int(real_of(to))][int(from)] ? go(real_of(to)) : go(DType::Float32);
    else
      go(DType::Float32);  // to a half type
  }
  return path;
}

void convert_block(const ConvertPath& path, char* out, const char* data, int64_t n, char (*step)[kBufferBytes]) {
  for (int i = 0; i < path.count; ++i) {
    char* to = i + 1 == path.count ? out : step[i % 2];
    char* pointers[] = {to, const_cast<char*>(data)};
    path.step[i](pointers, n, nullptr);
    data = to;
  }
}

}  // namespace torch
