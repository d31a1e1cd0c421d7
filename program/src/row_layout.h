// Where the values of a stretch lie while it is walked, and the walk that is made of it.
#pragma once
#include "row_stretch.h"

namespace torch::program {

class Rows::Layout {
 public:
  Layout(const RegionText& text, const Stretch& stretch, const SeenLoops& loops)
      : text_(text), stretch_(stretch), loops_(loops) {}

  // One step for all of the stretch, whose steps it takes over; none, and nothing has happened, where rows do not fit.
  std::optional<Step> make();

 private:
  void count_rows();
  int place(int v, int64_t row_step);
  int64_t room_for(int v, const Place& p);  // an offset
  bool add_group(const Step& g);
  void add_call(const Step& s);
  void add_fold(const Step& s);
  void free_after(size_t step);

  const RegionText& text_;
  const Stretch& stretch_;
  const SeenLoops& loops_;
  std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();
  Step all_;
  std::set<int> folded_;                              // what folds read
  std::map<int, size_t> last_;                        // the step that reads a value last
  std::map<int, int> places_;                         // by value
  std::multimap<int64_t, int64_t> free_;              // offsets of room by its bytes
  std::map<int, std::pair<int64_t, int64_t>> taken_;  // bytes and offset by value
};

}  // namespace torch::program
