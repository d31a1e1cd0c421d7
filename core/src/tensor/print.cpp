// std::cout << tensor: the values as matrices, each under the indices of its leading dims, and what they are.
//
//   (1,.,.) =
//    0  1
//    2  3
//   [ CPULongType{1,2,2} ]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "iterate/dense.h"
#include "torch/core/sparse.h"

namespace torch {

namespace {

constexpr size_t kLine = 80;  // characters

template <class... T>
std::string text(const char* format, T... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// How the real numbers of one tensor are written: as integers where they are that, else with four decimals, and with an
// exponent where these would show too little of the smallest or the greatest.
class Reals {
 public:
  void look(double x) {
    if (!std::isfinite(x)) return;
    are_integers_ &= x == std::floor(x);
    const double size = std::abs(x);
    greatest_ = std::max(greatest_, size);
    if (size > 0) smallest_ = std::min(smallest_, size);
  }
  std::string operator()(double x) const {
    if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
    const bool is_wide = greatest_ >= (are_integers_ ? 1e8 : 1e5) || smallest_ < 1e-4 || greatest_ / smallest_ > 1e6;
    if (are_integers_ && greatest_ < 1e8) return text("%.0f", x);
    return text(is_wide ? "%.4e" : "%.4f", x);
  }

 private:
  bool are_integers_ = true;
  double greatest_ = 0, smallest_ = HUGE_VAL;
};

// Every element, in the order of the dims.
std::vector<std::string> words_of(const Tensor& t) {
  std::vector<std::string> words(size_t(t.numel()));
  visit_dtype(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* data = t.data<T>();
    if constexpr (std::is_same_v<T, bool>) {
      for (size_t i = 0; i < words.size(); ++i) words[i] = reinterpret_cast<const uint8_t*>(data)[i] ? "1" : "0";
    } else if constexpr (std::is_integral_v<T>) {
      for (size_t i = 0; i < words.size(); ++i) words[i] = std::to_string(data[i]);
    } else if constexpr (is_complex(dtype_of<T>)) {
      Reals format;
      for (size_t i = 0; i < words.size(); ++i) format.look(data[i].real()), format.look(data[i].imag());
      for (size_t i = 0; i < words.size(); ++i)
        words[i] = "(" + format(data[i].real()) + "," + format(data[i].imag()) + ")";
    } else {
      Reals format;
      for (size_t i = 0; i < words.size(); ++i) format.look(double(data[i]));
      for (size_t i = 0; i < words.size(); ++i) words[i] = format(double(data[i]));
    }
  });
  return words;
}

void print_matrix(std::ostream& out, const std::string* words, int64_t rows, int64_t columns, size_t width) {
  const int64_t at_once = std::max<int64_t>(1, int64_t(kLine / (width + 1)));
  for (int64_t first = 0; first < columns; first += at_once) {
    const int64_t last = std::min(columns, first + at_once);
    if (columns > at_once) out << (first ? "\n" : "") << "Columns " << first + 1 << " to " << last << "\n";
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = first; c < last; ++c) {
        const std::string& word = words[r * columns + c];
        out << (c > first ? " " : "") << std::string(width - word.size(), ' ') << word;
      }
      out << "\n";
    }
  }
}

void print_values(std::ostream& out, const Tensor& t) {
  const std::vector<std::string> words = words_of(t);
  if (t.dim() == 0) {
    out << words[0] << "\n";
    return;
  }
  size_t width = 0;  // with a column for signs
  for (const std::string& word : words) width = std::max(width, word.size() + (word[0] != '-'));
  const int64_t n = t.dim(), columns = n < 2 ? 1 : t.size(n - 1), rows = t.size(n < 2 ? 0 : n - 2);
  for (int64_t begin = 0; begin < t.numel(); begin += rows * columns) {
    if (n > 2) {
      std::string place;
      for (int64_t d = n - 3, rest = begin / (rows * columns); d >= 0; rest /= t.size(d), --d)
        place = std::to_string(rest % t.size(d) + 1) + "," + place;
      out << (begin ? "\n(" : "(") << place << ".,.) = \n";
    }
    print_matrix(out, words.data() + begin, rows, columns, width);
  }
}

}  // namespace

void show_in_message(std::ostream& out, const Tensor& t) {
  if (t)
    out << t.sizes() << ' ' << t.dtype();
  else
    out << "None";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  if (!t) return out << "[ Tensor (undefined) ]";
  const bool has_values = t.has_memory() && !t.is_meta() && t.numel() > 0;
  if (has_values) {
    Tensor values = as_contiguous(alias_of(t, true), t.dtype());
    if (t.device().type != DeviceType::CPU) {
      values = empty_tensor(t.sizes(), t.dtype());
      copy_into(values, t);
    }
    print_values(out, values);
  }
  std::string sizes;
  for (int64_t size : t.sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  const char* place = name(DispatchKey(t.device().type));
  return out << "[ " << (is_any_sparse(t) ? layout_name(layout_of(t)) : "") << place << legacy_name(t.dtype())
             << "Type{" << sizes << "} ]";
}

}  // namespace torch
