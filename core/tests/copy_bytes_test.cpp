#include "storage/copy_bytes.h"

#include <cstdint>
#include <vector>

#include "check.h"
#include "storage/move_row.h"
#include "torch/core/pool.h"

using namespace torch;

namespace {

char byte_at(size_t i) { return char(i * 2654435761u >> 13); }

// copy(to, from, bytes) from and to places of any alignment.
void check_copies(std::initializer_list<size_t> sizes, void (*copy)(char*, const char*, size_t)) {
  for (size_t bytes : sizes)
    for (size_t from : {0, 1, 24})
      for (size_t to : {0, 7, 64}) {
        std::vector<char> src(from + bytes), dst(to + bytes + 64, char(77));
        for (size_t i = 0; i < bytes; ++i) src[from + i] = byte_at(i);
        copy(dst.data() + to, src.data() + from, bytes);
        size_t wrong = 0;
        for (size_t i = 0; i < bytes; ++i) wrong += dst[to + i] != byte_at(i);
        for (size_t i = 0; i < to; ++i) wrong += dst[i] != 77;
        for (size_t i = to + bytes; i < dst.size(); ++i) wrong += dst[i] != 77;
        CHECK_EQ(wrong, size_t(0));
      }
}

void every_byte_arrives_and_none_beside_it() {
  constexpr size_t kMB = 1 << 20;
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    check_copies({0, 1, 4095, 4 * kMB - 1, 4 * kMB, 9 * kMB + 12345},
                 [](char* to, const char* from, size_t bytes) { copy_bytes(to, from, bytes); });
  }
}

void rows_arrive_whole() { check_copies({0, 1, 1023, 1024, 1025, 3988, 4096, (1 << 20) + 5}, move_row); }

}  // namespace

int main() {
  RUN(every_byte_arrives_and_none_beside_it);
  RUN(rows_arrive_whole);
  return test::result();
}
