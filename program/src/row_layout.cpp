#include "row_layout.h"

#include <algorithm>
#include <bit>

namespace torch::program {

namespace {

constexpr int64_t kSomeBytes = 64 << 10;  // of all values, for the rows that are done at a time
constexpr int64_t kTaskElements = 16384;

constexpr int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::optional<Rows::Step> Rows::Layout::make() {
  count_rows();
  const auto& steps = stretch_.steps();
  for (size_t i = 0; i < steps.size(); ++i)
    for (int v : steps[i]->in) last_[v] = i;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &s = *steps[i], &g = group_of(s);
    all_.calls.insert(all_.calls.end(), s.calls.begin(), s.calls.end());
    if (std::find(stretch_.folds().begin(), stretch_.folds().end(), &s) != stretch_.folds().end()) {
      add_fold(s);
      continue;
    }
    if (!g.tiles)
      add_call(s);
    else if (!add_group(g))
      return {};
    free_after(i);
  }
  if (rows_->bytes_ > kMostBytes) return {};
  rows_->grain_ = std::max<int64_t>(1, kTaskElements / (rows_->columns_ * rows_->some_));
  for (Step* s : steps) rows_->steps_.push_back(std::move(*s));
  all_.rows = std::move(rows_);
  return std::move(all_);
}

// How many there are, how many are done at a time, and how many are folded together.
void Rows::Layout::count_rows() {
  const IntArrayRef sizes = stretch_.sizes();
  rows_->columns_ = sizes.back();
  rows_->rows_ = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) rows_->rows_ *= sizes[d];
  std::set<int> wide;
  for (const Step* s : stretch_.steps())
    for (const auto* values : {&s->in, &s->out})
      for (int v : *values)
        if (stretch_.is_wide(stretch_.tensor(v).sizes())) wide.insert(v);
  int64_t bytes = 0;
  for (int v : wide) bytes += stretch_.row_bytes(v);
  rows_->some_ = std::clamp<int64_t>(kSomeBytes / bytes, 1, RowLoop::kMostRows);
  if (stretch_.folds().empty()) return;
  rows_->some_ = std::min(ColumnLoop::kRows, int64_t(std::bit_floor(uint64_t(rows_->some_))));
  rows_->part_ = loops_.columns_of(stretch_.folds()[0]->calls[0]).part;
  for (const Step* s : stretch_.folds()) folded_.insert(s->in[0]);
}

// The place of a value, which is made at its first use: in the caller's tensor, in one that the walk makes, or, where
// nothing after the walk needs it, in room of the task's own.
int Rows::Layout::place(int v, int64_t row_step) {
  auto [at, is_new] = places_.try_emplace(v, int(rows_->places_.size()));
  if (!is_new) return at->second;
  Place p{v, -1, row_step};
  if (!stretch_.is_made(v)) {
    all_.in.push_back(v);
    if (v >= text_.inputs) rows_->expected_.push_back({v, Geometry(stretch_.tensor(v))});
  } else {
    p.row_step = stretch_.row_bytes(v);
    if (stretch_.is_needed(v)) {
      rows_->out_.push_back({v, Geometry(stretch_.tensor(v))});
      all_.out.push_back(v);
    } else {
      p.is_folded = folded_.count(v) > 0;
      p.offset = room_for(v, p);
    }
  }
  rows_->places_.push_back(p);
  return at->second;
}

int64_t Rows::Layout::room_for(int v, const Place& p) {
  const int64_t bytes = whole_lines(p.row_step * (p.is_folded ? ColumnLoop::kRows : rows_->some_));
  int64_t offset;
  if (const auto room = free_.find(bytes); room != free_.end()) {
    offset = room->second;
    free_.erase(room);
  } else {
    offset = rows_->bytes_;
    rows_->bytes_ += bytes;
  }
  if (!p.is_folded) taken_[v] = {bytes, offset};
  return offset;
}

void Rows::Layout::free_after(size_t step) {
  for (const auto& [v, last] : last_)
    if (last == step)
      if (const auto room = taken_.find(v); room != taken_.end()) free_.insert(room->second), taken_.erase(room);
}

// False where a value lies otherwise to this group than to those before.
bool Rows::Layout::add_group(const Step& g) {
  Part part;
  part.tiles = Stretch::over_rows(g);
  part.is_of_numbers = !part.tiles;
  if (!part.tiles) part.tiles = g.tiles.get();
  for (int v : g.out) part.at.push_back(place(v, 0));
  for (int v : g.in) {
    const int64_t step = part.is_of_numbers ? stretch_.tensor(v).item_size() : part.tiles->row_step(part.at.size());
    part.at.push_back(place(v, step));
    if (rows_->places_[size_t(part.at.back())].row_step != step) return false;
  }
  rows_->add(std::move(part));
  return true;
}

void Rows::Layout::add_call(const Step& s) {
  Part part;
  part.loop = loops_.rows_of(s.calls[0]);
  part.at = {place(s.out[0], 0), place(s.in[0], stretch_.row_bytes(s.in[0]))};
  rows_->add(std::move(part));
}

void Rows::Layout::add_fold(const Step& s) {
  const ColumnLoop& loop = loops_.columns_of(s.calls[0]);
  const int64_t step = stretch_.row_bytes(s.in[0]);
  rows_->folds_.push_back({loop, place(s.in[0], step), step, s.out[0], rows_->part_bytes_});
  rows_->part_bytes_ += whole_lines(loop.bytes * rows_->columns_);
  rows_->out_.push_back({s.out[0], Geometry(stretch_.tensor(s.out[0]))});
  all_.out.push_back(s.out[0]);
}

}  // namespace torch::program
