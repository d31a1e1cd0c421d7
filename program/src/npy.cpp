#include "torch/program/npy.h"

#include <algorithm>
#include <cstring>

#include "reader.h"
#include "torch/core/ops/copy.h"

namespace torch::program {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
struct Code {
  const char* text;
  DType dtype;
};
constexpr Code kCodes[] = {{"|b1", DType::Bool},      {"|u1", DType::UInt8},      {"|i1", DType::Int8},
                           {"<i2", DType::Int16},     {"<i4", DType::Int32},      {"<i8", DType::Int64},
                           {"<u2", DType::UInt16},    {"<u4", DType::UInt32},     {"<u8", DType::UInt64},
                           {"<f2", DType::Float16},   {"<f4", DType::Float32},    {"<f8", DType::Float64},
                           {"<c8", DType::Complex64}, {"<c16", DType::Complex128}};

struct Header {
  DType dtype = DType::Float32;
  bool columns_first = false;
  std::vector<int64_t> sizes;
};

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
Header parse(const std::string& text) {
  Reader in(text);
  Header h;
  bool has_dtype = false, has_shape = false;
  in.expect('{');
  while (!in.accept('}')) {
    const std::string key = in.quoted();
    in.expect(':');
    if (key == "descr") {
      if (in.peeks('[')) in.fail("an array of numbers, not of records");
      const std::string code = in.quoted();
      for (const Code& c : kCodes)
        if (code == c.text || (code.size() > 1 && c.text[0] == '|' && code.substr(1) == c.text + 1))
          h.dtype = c.dtype, has_dtype = true;
      TORCH_CHECK_VALUE(has_dtype, "npy: there is no dtype '", code, "' here (little-endian numbers are read)");
    } else if (key == "fortran_order") {
      h.columns_first = in.literal().to_bool();
    } else if (key == "shape") {
      const Cell shape = in.literal();
      for (const Cell& c : shape.items()) h.sizes.push_back(c.to_int());
      has_shape = true;
    } else {
      in.fail("one of 'descr', 'fortran_order' and 'shape' before here");
    }
    if (!in.accept(',') && !in.peeks('}')) in.fail("',' or '}'");
  }
  TORCH_CHECK_VALUE(has_dtype && has_shape, "npy: the header says no dtype or no shape");
  TORCH_CHECK_VALUE(h.sizes.size() <= size_t(kMaxDims), "npy: more than ", kMaxDims, " dims");
  return h;
}

}  // namespace

Tensor from_npy(std::string_view bytes) {
  auto byte = [&](size_t i) { return size_t(static_cast<unsigned char>(bytes[i])); };
  TORCH_CHECK_VALUE(bytes.size() >= 12 && bytes.starts_with(kMagic), "npy: not a .npy file");
  const bool first = byte(6) == 1;
  const size_t length = byte(8) | byte(9) << 8 | (first ? 0 : byte(10) << 16 | byte(11) << 24), begin = first ? 10 : 12;
  TORCH_CHECK_VALUE(byte(6) >= 1 && byte(6) <= 3 && length <= bytes.size() - begin, "npy: the header is cut off");
  Header h = parse(std::string(bytes.substr(begin, length)));
  if (h.columns_first) std::reverse(h.sizes.begin(), h.sizes.end());
  const int64_t numel = checked_numel("npy", h.sizes);
  const size_t have = bytes.size() - begin - length;
  TORCH_CHECK_VALUE(uint64_t(numel) <= have && uint64_t(numel) * uint64_t(item_size(h.dtype)) <= have,
                    "npy: the file is cut off: ", numel, " numbers do not fit into ", have, " bytes");
  Tensor t = empty_tensor(h.sizes, h.dtype);
  if (numel) std::memcpy(t.data(), bytes.data() + begin + length, size_t(numel * t.item_size()));
  if (h.dtype == DType::Bool)
    for (int64_t i = 0; i < numel; ++i) t.data<uint8_t>()[i] = t.data<uint8_t>()[i] != 0;
  if (!h.columns_first || h.sizes.size() < 2) return t;
  std::vector<int64_t> strides = t.strides().vec();
  std::reverse(strides.begin(), strides.end());
  std::reverse(h.sizes.begin(), h.sizes.end());
  return view_of(t, h.sizes, strides, 0);
}

std::string to_npy(const Tensor& t) {
  const char* code = nullptr;
  for (const Code& c : kCodes)
    if (c.dtype == t.dtype()) code = c.text;
  TORCH_CHECK_TYPE(code, "npy: NumPy has no dtype for ", t.dtype());
  const Tensor rows = torch::contiguous(t);
  std::string shape;
  for (int64_t n : rows.sizes()) shape += std::to_string(n) + (rows.dim() == 1 ? "," : ", ");
  if (rows.dim() > 1) shape.resize(shape.size() - 2);
  std::string header = std::string("{'descr': '") + code + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  std::string out(kMagic);
  out += {'\1', '\0', char((header.size() + 1) & 255), char((header.size() + 1) >> 8)};
  out += header + "\n";
  if (rows.numel()) out.append(static_cast<const char*>(rows.data()), size_t(rows.numel() * rows.item_size()));
  return out;
}

}  // namespace torch::program
