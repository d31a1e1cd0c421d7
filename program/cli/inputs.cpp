#include "inputs.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "torch/program/npy.h"
#include "torch/program/pt.h"
#include "torch/program/text.h"

namespace torch::program {

namespace {

std::mt19937_64& numbers() {
  static std::mt19937_64 g;  // the same at each start
  return g;
}

Tensor filled(const std::string& kind, IntArrayRef sizes, DType dtype, int64_t high) {
  Tensor t = empty_tensor(sizes, dtype);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::uniform_int_distribution<int64_t> below(0, std::max<int64_t>(high, 1) - 1);
  auto draw = [&]() -> double {
    if (kind == "zeros" || kind == "ones") return kind == "ones";
    if (kind == "randint") return double(below(numbers()));
    return kind == "rand" ? uniform(numbers()) : normal(numbers());
  };
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < t.numel(); ++i) {
      const double d = draw();
      if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
        t.data<T>()[i] = T(typename T::value_type(d), typename T::value_type(draw()));
      else if constexpr (std::is_integral_v<T>)
        t.data<T>()[i] = T(int64_t(d));
      else
        t.data<T>()[i] = T(float(d));
    }
  });
  return t;
}

// "randn(2, 3, float64)"
Cell made(const std::string& word, const std::string& kind) {
  std::string inside = word.substr(kind.size() + 1, word.size() - kind.size() - 2);
  DType dtype = kind == "randint" ? DType::Int64 : DType::Float32;
  for (int i = 0; i < kDTypes; ++i) {
    const std::string name = torch::name(DType(i));
    const size_t last = inside.find_last_of(", ");
    if ((last == inside.npos ? inside : inside.substr(last + 1)) != name) continue;
    dtype = DType(i);
    inside.resize(last == inside.npos ? 0 : inside.find_last_not_of(", ", last) + 1);
  }
  std::vector<int64_t> sizes = parse_value("[" + inside + "]", list_type(int_type())).to_ints();
  int64_t high = 2;
  if (kind == "randint") {
    TORCH_CHECK_VALUE(!sizes.empty() && sizes[0] > 0, word, ": randint(high, sizes...) with high above 0");
    high = sizes[0];
    sizes.erase(sizes.begin());
  }
  return Cell(filled(kind, sizes, dtype, high));
}

}  // namespace

std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf()))
    throw_error(ErrorKind::Runtime, path + ": cannot be read: " + (errno ? std::strerror(errno) : "it is empty"));
  return bytes.str();
}

Cell input_of(const std::string& word, const TypePtr& type) {
  for (const char* kind : {"randn", "rand", "ones", "zeros", "randint"})
    if (word.starts_with(std::string(kind) + "(") && word.ends_with(')')) return made(word, kind);
  if (word.ends_with(".npy")) try {
      return Cell(from_npy(read_whole(word)));
    } catch (const Error& e) {
      if (std::string_view(e.what()).starts_with(word)) throw;
      throw Error(e.kind(), word + ": " + e.what());
    }
  if (type && type->is(TypeKind::String) && !word.starts_with('"') && !word.starts_with('\'')) return Cell(word);
  if (word.ends_with(".pt") || word.ends_with(".pth")) return from_pt(read_whole(word), word);
  try {
    Cell c = parse_value(word, type && !type->is(TypeKind::Tensor) ? type : nullptr);
    if (type && type->is(TypeKind::Tensor) && c.is_number()) {
      const Scalar s = c.to_scalar();
      return Cell(scalar_tensor_of(s, s.dtype()));
    }
    return c;
  } catch (const Error& e) {
    throw Error(ErrorKind::Value, "input '" + word + "': not a .npy or .pt file, randn(...) or a value: " + e.what());
  }
}

Cell random_of(const std::string& argument, const TypePtr& type) {
  const TensorInfo* info = type->is(TypeKind::Tensor) ? type->tensor_info() : nullptr;
  bool known = info && info->sizes && info->dtype;
  for (size_t i = 0; known && i < info->sizes->size(); ++i) known = (*info->sizes)[i] >= 0;
  TORCH_CHECK_VALUE(known, "argument '", argument, "' of type ", unshaped(type)->str(),
                    " is missing, and the program does not know its shape (a trace does): give a value or a shape, as "
                    "in 'randn(1, 3, 224, 224)'");
  return Cell(filled(is_floating(*info->dtype) || is_complex(*info->dtype) ? "randn" : "randint", *info->sizes,
                     *info->dtype, 2));
}

std::vector<std::string> store(const Cell& value, const std::string& path) {
  const size_t dot = path.rfind(".npy");
  TORCH_CHECK_VALUE(dot != path.npos && dot + 4 == path.size(), "--output: expected a name that ends with .npy, not ",
                    path);
  if (value.is(Cell::Tag::Tensor)) {
    std::ofstream out(path, std::ios::binary);
    const std::string bytes = to_npy(value.to_tensor());
    if (!out || !out.write(bytes.data(), std::streamsize(bytes.size())).flush())
      throw_error(ErrorKind::Runtime, path + ": cannot be written: " + std::strerror(errno));
    return {path};
  }
  std::vector<std::string> written;
  auto each = [&](const std::string& name, const Cell& c) {
    for (std::string& w : store(c, path.substr(0, dot) + "." + name + ".npy")) written.push_back(std::move(w));
  };
  if (value.is(Cell::Tag::List) || value.is(Cell::Tag::Tuple)) {
    for (size_t i = 0; i < value.items().size(); ++i) each(std::to_string(i), value.items()[i]);
  } else if (value.is(Cell::Tag::Dict)) {
    for (const auto& e : value.to_dict().entries)
      if (e.alive) each(e.key.str(), e.value);
  } else {
    throw_error(ErrorKind::Type, "--output: only tensors are stored, the result has " + value.repr());
  }
  return written;
}

}  // namespace torch::program
