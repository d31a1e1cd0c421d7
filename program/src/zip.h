// Zip archives whose members are stored as they are: read where they lie, written at multiples of 64 bytes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "torch/core/array_ref.h"

namespace torch::program {

class ZipReader {
 public:
  struct Member {
    size_t offset, size;  // of its bytes in the archive
    uint32_t crc;
  };

  // Reads the directory, and proves of every member that it lies within the archive and beside the others. The bytes
  // stay the caller's. ErrorKind::Runtime names the archive and what is wrong with it.
  ZipReader(const void* bytes, size_t size, std::string name);

  const std::map<std::string, Member, std::less<>>& members() const noexcept { return members_; }
  const Member* find(std::string_view name) const;
  std::string_view bytes(const Member& m) const { return {reinterpret_cast<const char*>(bytes_) + m.offset, m.size}; }
  void check_sum(std::string_view name, const Member& m) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  uint64_t number(size_t at, int width) const;  // little-endian
  struct End {
    uint64_t count, size, start;
  };
  End end() const;
  void entry(size_t& at, size_t limit);

  const unsigned char* bytes_;
  size_t size_;
  std::string name_;
  std::map<std::string, Member, std::less<>> members_;
};

class ZipWriter {
 public:
  void add(const std::string& name, const void* bytes, size_t size);
  std::string finish();  // the archive

 private:
  std::string out_, directory_;
  uint64_t count_ = 0;
};

}  // namespace torch::program
