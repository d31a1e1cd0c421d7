#include "rows.h"

#include <algorithm>

#include "region_run.h"
#include "row_layout.h"
#include "torch/core/pool.h"

namespace torch::program {

void Rows::find(RegionPlan& plan, const std::vector<Cell>& cells) {
  SeenLoops loops;
  Stretch stretch(plan.text_, cells, loops);
  std::vector<Step> todo = std::move(plan.steps_), done;
  for (size_t first = 0; first < todo.size();) {
    const size_t end = stretch.look_from(first, todo);
    std::optional<Step> all = stretch.is_worth_it() ? Layout(plan.text_, stretch, loops).make() : std::nullopt;
    if (!all) {
      done.push_back(std::move(todo[first++]));
      continue;
    }
    for (Step* s : stretch.before()) done.push_back(std::move(*s));
    done.push_back(std::move(*all));
    std::vector<Step> rest;
    for (Step* s : stretch.after()) rest.push_back(std::move(*s));
    first = end - rest.size();
    std::move(rest.begin(), rest.end(), todo.begin() + ptrdiff_t(first));
  }
  plan.steps_ = std::move(done);
}

void Rows::add(Part part) {
  for (int k : part.at) part.steps.push_back(places_[size_t(k)].row_step);
  parts_.push_back(std::move(part));
}

bool Rows::run(RegionPlan::Registers& registers) const {
  for (const auto& [v, geometry] : expected_)
    if (!registers[v] || !geometry.fits(registers[v])) return false;
  for (const Place& p : places_)
    if (p.offset < 0 && !registers[p.value] &&
        std::none_of(out_.begin(), out_.end(), [&](const auto& o) { return o.first == p.value; }))
      return false;
  for (const auto& [v, geometry] : out_) registers.own(v, geometry.empty());
  const auto walk = [&](int64_t begin, int64_t end, char* accumulators) {
    const Tensor memory = bytes_ ? empty_tensor({bytes_ + 64}, DType::UInt8) : Tensor();
    char* const room =
        bytes_ ? reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64) : nullptr;
    char** const at = static_cast<char**>(__builtin_alloca(sizeof(char*) * places_.size()));
    for (size_t i = 0; i < places_.size(); ++i) {
      const Place& p = places_[i];
      at[i] = p.offset >= 0 ? room + p.offset : static_cast<char*>(registers[p.value]->data()) + begin * p.row_step;
    }
    for (const Fold& f : folds_) f.loop.reset(accumulators + f.offset, columns_);
    const int64_t step = folds_.empty() ? end - begin : ColumnLoop::kRows;
    for (int64_t first = begin; first < end; first += step) {
      const int64_t count = std::min(step, end - first);
      run_rows(first, count, at);
      for (const Fold& f : folds_)
        f.loop.fold(at[f.at] - count * f.step, f.step, count, columns_, first, accumulators + f.offset);
      for (size_t i = 0; i < places_.size(); ++i)
        if (places_[i].is_folded) at[i] = room + places_[i].offset;
    }
  };
  if (folds_.empty()) {
    parallel_for((rows_ + some_ - 1) / some_, grain_,
                 [&](int64_t begin, int64_t end) { walk(begin * some_, std::min(rows_, end * some_), nullptr); });
    return true;
  }
  const int64_t parts = (rows_ + part_ - 1) / part_;
  const Tensor memory = empty_tensor({parts * part_bytes_}, DType::UInt8);
  char* const accumulators = static_cast<char*>(memory.data());
  parallel_run(parts, [&](int64_t part) {
    walk(part * part_, std::min(rows_, (part + 1) * part_), accumulators + part * part_bytes_);
  });
  for (const Fold& f : folds_) {
    char* const sum = accumulators + f.offset;
    for (int64_t part = 1; part < parts; ++part) f.loop.merge(sum, sum + part * part_bytes_, columns_);
    f.loop.finish(sum, columns_, f.loop.number, registers[f.value]->data());
  }
  return true;
}

// Some rows after the other; `at` goes on with them.
void Rows::run_rows(int64_t first, int64_t count, char** at) const {
  for (const int64_t end = first + count; first < end; first += some_) {
    const int64_t some = std::min(some_, end - first);
    for (const Part& part : parts_) {
      char* data[kMaxOperands];
      for (size_t k = 0; k < part.at.size(); ++k) data[k] = at[part.at[k]];
      if (!part.tiles)
        part.loop(data[1], part.steps[1], some, columns_, data[0]);
      else if (part.is_of_numbers)
        part.tiles->run(data, some);
      else
        part.tiles->run_each(data, columns_, some, part.steps.data());
    }
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i].offset < 0 || places_[i].is_folded) at[i] += some * places_[i].row_step;
  }
}

std::string Rows::describe(const RegionPlan& plan) const {
  std::string out = "  blocks of " + std::to_string(some_) + " of " + std::to_string(rows_) + " rows\n";
  for (const Step& s : steps_) out += "  " + plan.describe(group_of(s));
  return out;
}

}  // namespace torch::program
