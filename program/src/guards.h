// What the arguments of a region must be for a plan of it to hold.
#pragma once
#include <vector>

#include "region.h"

namespace torch::program {

// What a tensor is, its values aside.
struct Geometry {
  DType dtype{};
  Device device;
  bool is_number = false;     // a Python number's: it yields in promotion
  std::vector<int64_t> dims;  // sizes, then strides

  Geometry() = default;
  explicit Geometry(const Tensor& t);
  bool fits(const TensorImpl* t) const noexcept;
  size_t ndim() const noexcept { return dims.size() / 2; }
  IntArrayRef sizes() const noexcept { return {dims.data(), ndim()}; }
  bool is_contiguous() const noexcept;
  Tensor empty() const;              // a new tensor that fits
  Tensor empty(int64_t rows) const;  // contiguous, of another first size
};

// One for each input of a region.
struct Guard {
  Geometry tensor;         // of a tensor
  Cell value;              // of others, the value
  bool by_value = true;    // else any number of this kind will do
  bool as_tensor = false;  // a number that calls take as a tensor
  bool fits(const Cell& c) const noexcept;
};

class Guards {
 public:
  Guards(const RegionText& text, const Cell* const* inputs);
  const Guard& operator[](size_t i) const noexcept { return all_[i]; }
  bool fits(const Cell* const* inputs) const noexcept;

 private:
  std::vector<Guard> all_;
  DType default_dtype_;
};

// What arguments are to a region: such as plans are for, such as plans are for but that the tape records what becomes
// of them, or others (a mode is on, a tensor lies elsewhere).
enum class Standing : uint8_t { Plain, Recorded, Other };
Standing standing_of(const Cell* const* inputs, int count) noexcept;

}  // namespace torch::program
