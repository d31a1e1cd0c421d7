// Which calls of a region run as one group: element-wise ones that give one shape, each put into the last group that
// stands after everything it needs.
#pragma once
#include <map>

#include "observe.h"
#include "region_plan.h"

namespace torch::program {

class Grouping {
 public:
  // `cells`: what each value was when the region ran; `singles`: a step for each call.
  Grouping(RegionPlan& plan, const std::vector<Cell>& cells, std::vector<RegionPlan::Step> singles)
      : plan_(plan), text_(plan.text_), cells_(cells), singles_(std::move(singles)) {}
  void group();

 private:
  struct Item {
    std::vector<int> calls;
    bool is_group = false;
    size_t loops = 0;
  };
  bool is_run_in_tiles(const Item& item) const;
  bool reads_handed_out(const Item& item) const;
  bool converts(const RegionCall& call) const;
  std::optional<Observed> look_at(int call);
  bool takes(const Item& item, int call) const;
  size_t operands(const std::vector<int>& calls) const;
  void repeat_cheap_calls();
  bool is_worth_repeating(int call) const;
  static bool has(const Item& item, int call);
  // Whether somebody reads a value of this call who does not compute it for himself.
  bool is_read_elsewhere(int call, int value) const;
  RegionPlan::Step make(const Item& item);
  struct Rows {
    int64_t columns = 0;
    bool has_number = false;  // one of the tensors has a number for each row
  };
  Rows find_rows(const RegionPlan::Step& step, std::vector<TileValue>& values,
                 const std::map<int, int>& by_value) const;
  // On a device: whether the calls became one kernel.
  bool make_chain(RegionPlan::Step& step, const std::vector<TileValue>& values, const std::vector<TileCall>& calls,
                  const std::map<int, int>& by_value) const;
  Device device_of(int call) const { return tensor(text_.calls[size_t(call)].results[0]).device(); }
  bool is_on_cpu(int call) const { return device_of(call).type == DeviceType::CPU; }
  const Tensor& tensor(int value) const { return cells_[size_t(value)].to_tensor(); }

  RegionPlan& plan_;
  const RegionText& text_;
  const std::vector<Cell>& cells_;
  std::vector<RegionPlan::Step> singles_;
  std::map<int, Observed> observed_;  // by call
  std::vector<Item> items_;
  std::vector<int> item_of_;             // by value; -1 of inputs
  std::vector<std::vector<int>> users_;  // calls, by value; -1 stands for who is outside
  bool reduces_ = false;                 // there is a call that gives a number for each row
};

}  // namespace torch::program
