// Published check value and agreement of the folded with the bitwise computation at every length and start.
#include "torch/core/crc32.h"

#include <vector>

#include "check.h"

using namespace torch;

static uint32_t bitwise(const unsigned char* p, size_t n, uint32_t value) {
  uint32_t c = ~value;
  for (; n; --n) {
    c ^= *p++;
    for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
  }
  return ~c;
}

int main() {
  CHECK_EQ(crc32("123456789", 9), 0xCBF43926u);  // the "check" value of CRC-32/ISO-HDLC in the CRC catalogue
  std::vector<unsigned char> data(1500);
  uint32_t x = 1;
  for (auto& b : data) b = static_cast<unsigned char>((x = x * 1664525 + 1013904223) >> 24);
  for (size_t n = 0; n <= 1400; ++n) CHECK_EQ(crc32(data.data() + n % 17, n), bitwise(data.data() + n % 17, n, 0));
  CHECK_EQ(crc32(data.data() + 333, 900, crc32(data.data(), 333)), crc32(data.data(), 1233));
  return test::result();
}
