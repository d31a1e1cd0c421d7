#include "storage/copy_bytes.h"

#include <cstdint>
#include <vector>

#include "check.h"
#include "torch/core/pool.h"

using namespace torch;

namespace {

char byte_at(size_t i) { return char(i * 2654435761u >> 13); }

void every_byte_arrives_and_none_beside_it() {
  constexpr size_t kMB = 1 << 20;
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    for (size_t bytes : {size_t(0), size_t(1), size_t(4095), 4 * kMB - 1, 4 * kMB, 9 * kMB + 12345})
      for (size_t from : {0, 1, 24})
        for (size_t to : {0, 7, 64}) {
          std::vector<char> src(from + bytes), dst(to + bytes + 64, char(77));
          for (size_t i = 0; i < bytes; ++i) src[from + i] = byte_at(i);
          copy_bytes(dst.data() + to, src.data() + from, bytes);
          size_t wrong = 0;
          for (size_t i = 0; i < bytes; ++i) wrong += dst[to + i] != byte_at(i);
          for (size_t i = 0; i < to; ++i) wrong += dst[i] != 77;
          for (size_t i = to + bytes; i < dst.size(); ++i) wrong += dst[i] != 77;
          CHECK_EQ(wrong, size_t(0));
        }
  }
}

}  // namespace

int main() {
  RUN(every_byte_arrives_and_none_beside_it);
  return test::result();
}
