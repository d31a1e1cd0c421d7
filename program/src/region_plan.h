// A region for arguments of one kind.
#pragma once
#include "code.h"
#include "region.h"
#include "tiles.h"

namespace torch::program {

// What a tensor is, its values aside.
struct Geometry {
  DType dtype{};
  bool is_number = false;     // a Python number's: it yields in promotion
  std::vector<int64_t> dims;  // sizes, then strides

  Geometry() = default;
  explicit Geometry(const Tensor& t);
  bool fits(const TensorImpl* t) const noexcept;
  size_t ndim() const noexcept { return dims.size() / 2; }
  IntArrayRef sizes() const noexcept { return {dims.data(), ndim()}; }
  Tensor empty() const;  // a new tensor that fits
};

class RegionPlan {
 public:
  // Makes the calls one by one, giving `outputs`, and plans for the next time what is like them.
  RegionPlan(const RegionText& text, const Cell* const* inputs, Cell* outputs);

  bool fits(const Cell* const* inputs) const noexcept;
  // False when something is not as it was planned for; errors of rows come through. Either way nothing has happened.
  bool run(const Cell* const* inputs, Cell* outputs) const;
  bool has_groups() const noexcept;
  std::string describe() const;

  // Whether these arguments are such as plans are for: tensors with memory of the CPU's, no gradients, no modes.
  static bool is_plain(const Cell* const* inputs, int count) noexcept;

 private:
  friend class Grouping;
  class Registers;
  struct Guard {
    Geometry tensor;         // of a tensor
    Cell value;              // of others, the value
    bool by_value = true;    // else any number of this kind will do
    bool as_tensor = false;  // a number that calls take as a tensor
    bool fits(const Cell& c) const noexcept;
  };
  // A group of calls over tiles, or a call.
  struct Step {
    std::vector<int> calls;
    std::vector<int> in, out;                        // values
    std::vector<int> drop;                           // that nothing needs after it
    std::unique_ptr<Tiles> tiles;                    // null: one call
    std::vector<std::pair<int, Geometry>> expected;  // of operands that a call made
    std::vector<Geometry> made;                      // of `out`
    std::unique_ptr<RowCall> row;
    bool gives_list = false;
    std::vector<std::pair<uint8_t, std::vector<int>>> lists;
  };
  void guard(const Cell* const* inputs);
  Step single(int call, const std::vector<Cell>& cells) const;
  void find_drops();

  const RegionText& text_;
  std::vector<Guard> guards_;
  std::vector<Step> steps_;
  DType default_dtype_;
};

}  // namespace torch::program
