#include "iterate/staging.h"

#include "stored/stored.h"

namespace torch {

namespace {
ConvertPath joined(ConvertPath a, const ConvertPath& b) noexcept {
  for (int i = 0; i < b.count; ++i) {
    a.step[a.count] = b.step[i];
    a.gives[a.count++] = b.gives[i];
  }
  return a;
}
}  // namespace

ConvertPath convert_path(DType from, DType to) noexcept {
  const Staging& s = staging();
  ConvertPath path;
  path.count = 0;
  auto go = [&](DType next) {
    path.step[path.count] = s.convert[int(next)][int(from)];
    path.gives[path.count++] = next;
    from = next;
  };
  while (from != to) {
    if (is_stored(from)) {
      path.step[path.count] = decode_loop(from);
      path.gives[path.count++] = from = wide_of(from);
    } else if (is_stored(to) && from == wide_of(to)) {
      path.step[path.count] = encode_loop(to);
      path.gives[path.count++] = from = to;
    } else if (is_stored(to)) {
      path = joined(path, convert_path(from, wide_of(to)));
      from = wide_of(to);
    } else if (s.convert[int(to)][int(from)])
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
