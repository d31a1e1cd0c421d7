#include "torch/core/crc32.h"
#include "torch/core/error.h"
#include "zip.h"

namespace torch::program {

namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kMax32 = 0xFFFFFFFF, kMax16 = 0xFFFF;

void put(std::string& out, int width, uint64_t v) {
  for (int i = 0; i < width; ++i) out += char(v >> (8 * i));
}

// The fields that both headers of a member share: version, flags (names are UTF-8), stored, 1980-01-01 as the date so
// that equal programs make equal files, checksum, sizes, length of the name.
void put_facts(std::string& out, uint32_t crc, uint64_t size, size_t name) {
  put(out, 2, 20);
  put(out, 2, 0x0800);
  put(out, 4, 0);
  put(out, 2, 0x0021);
  put(out, 4, crc);
  put(out, 4, size);
  put(out, 4, size);
  put(out, 2, name);
}

}  // namespace

void ZipWriter::add(const std::string& name, const void* bytes, size_t size) {
  TORCH_CHECK_IMPLEMENTED(size < kMax32 && out_.size() + size < kMax32,
                          "an archive of 4 GB or more: torch.jit.save writes it");
  TORCH_CHECK(name.size() < 1000, "the name of a member is too long");
  const uint32_t crc = crc32(bytes, size);
  const size_t local = out_.size(), used = local + 34 + name.size();
  const size_t padding = (kAlignment - used % kAlignment) % kAlignment;
  put(out_, 4, 0x04034b50);
  put_facts(out_, crc, size, name.size());
  put(out_, 2, 4 + padding);
  out_ += name;
  put(out_, 2, 0x4246);  // a field for padding, as PyTorch's files have it
  put(out_, 2, padding);
  out_.append(padding, 'Z');
  out_.append(static_cast<const char*>(bytes), size);
  put(directory_, 4, 0x02014b50);
  put(directory_, 2, 20);
  put_facts(directory_, crc, size, name.size());
  put(directory_, 2, 0);  // no extra field,
  put(directory_, 2, 0);  // no comment,
  put(directory_, 8, 0);  // the first disk, no attributes
  put(directory_, 4, local);
  directory_ += name;
  ++count_;
}

std::string ZipWriter::finish() {
  TORCH_CHECK_IMPLEMENTED(count_ < kMax16, "an archive of 65535 members or more");
  const size_t start = out_.size();
  out_ += directory_;
  put(out_, 4, 0x06054b50);
  put(out_, 4, 0);
  put(out_, 2, count_);
  put(out_, 2, count_);
  put(out_, 4, directory_.size());
  put(out_, 4, start);
  put(out_, 2, 0);
  return std::move(out_);
}

}  // namespace torch::program
