#include "cuda/listed.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "cuda/device_times.h"

namespace torch::cuda {

namespace {

constexpr int64_t kMostBytes = int64_t(32) << 20;  // written by calls that wait: more is worth a launch of its own

std::atomic<int> open_lists{0};  // spares the threads of a program without lists a look
thread_local std::unique_ptr<OpenList> list;

}  // namespace

CallsOfLaunch calls_of_launch(const ListedFormula& f, const ListedCall* calls, int count) {
  CallsOfLaunch c{};
  for (int k = 0; k < kOperands; ++k) {
    c.type[k] = f.type[k];
    c.size[k] = uint8_t(item_size(f.type[k]));
  }
  for (; c.count < std::min(count, CallsOfLaunch::kMost); ++c.count) {
    const ListedCall& call = calls[c.count];
    c.n[c.count] = call.n;
    c.ones[c.count] = call.ones;
    c.first_piece[c.count + 1] = c.first_piece[c.count] + int((call.n + uint64_t(kListPiece) - 1) / kListPiece);
    for (int k = 0; k < kOperands; ++k) c.data[k][c.count] = call.data[k];
  }
  return c;
}

OpenList* OpenList::find() noexcept {
  return TORCH_LIKELY(open_lists.load(std::memory_order_relaxed) == 0) ? nullptr : list.get();
}
void OpenList::open() {
  if (!list) {
    list = std::make_unique<OpenList>();
    ++open_lists;
  }
  ++list->depth_;
}
void OpenList::close() {
  if (!list || --list->depth_ > 0) return;
  const std::unique_ptr<OpenList> last = std::move(list);
  --open_lists;
  last->launch();
}

int OpenList::level_after(uintptr_t begin, uintptr_t end, bool writes) const {
  int level = 0;
  auto at = spans_.upper_bound(begin);
  if (at != spans_.begin()) --at;
  for (; at != spans_.end() && at->first < end; ++at) {
    const Span& s = at->second;
    if (s.end > begin) level = std::max({level, s.written + 1, writes ? s.read + 1 : 0});
  }
  return level;
}
void OpenList::note(uintptr_t begin, uintptr_t end, bool writes, int level) {
  Span all{end, writes ? level : -1, writes ? -1 : level};
  auto at = spans_.upper_bound(begin);
  if (at != spans_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != spans_.end() && at->first < end) {
    const Span& s = at->second;
    begin = std::min(begin, at->first);
    all = {std::max(all.end, s.end), std::max(all.written, s.written), std::max(all.read, s.read)};
    at = spans_.erase(at);
  }
  spans_.emplace_hint(at, begin, all);
}

bool OpenList::take(const ElementwiseCall& c, ListLaunch formula, int device, const StorageRef* held, int count) {
  const Stream stream = chosen_stream(device);
  if (!formula || !(waiting_.empty() || (device == device_ && stream == stream_))) launch();
  if (!formula) return false;
  if (c.n == 0) return true;
  device_ = device;
  stream_ = stream;
  Waiting w{0, {}, {c.op, {}, uint32_t(c.n), 0}};
  std::memset(static_cast<void*>(&w.formula), 0, sizeof w.formula);  // gaps are compared, too
  w.formula.launch = formula;
  w.formula.fault = c.fault;
  w.formula.numbers = c.numbers;
  w.formula.scalars = c.scalars;
  uintptr_t begin[kOperands], end[kOperands];
  for (int k = 0; k < kOperands; ++k) {
    w.formula.type[k] = c.type[k];
    w.call.data[k] = c.data[k];
    if (!c.data[k]) continue;
    const bool is_one = c.n > 1 && c.geometry.stride[k][0] == 0;
    if (is_one) w.call.ones |= uint8_t(1 << k);
    begin[k] = reinterpret_cast<uintptr_t>(c.data[k]);
    end[k] = begin[k] + uintptr_t((is_one ? 1 : c.n) * item_size(c.type[k]));
    w.level = std::max(w.level, level_after(begin[k], end[k], k == 0));
  }
  for (int k = 0; k < kOperands; ++k)
    if (c.data[k]) note(begin[k], end[k], k == 0, w.level);
  waiting_.push_back(w);
  held_.insert(held_.end(), held, held + count);
  bytes_ += int64_t(end[0] - begin[0]);
  if (bytes_ > kMostBytes) launch();
  return true;
}

bool OpenList::take_copy(void* to, const void* from, const void* value, int64_t size, int64_t count, int device) {
  if (count >= int64_t(1) << 31) return false;
  constexpr DType kOfSize[] = {DType::UInt8, DType::Int16, DType::Int32, DType::Int64, DType::Complex128};
  int which = 0;
  while (item_size(kOfSize[which]) < size) ++which;
  ElementwiseCall c{};
  c.op = from ? "copy_" : "fill_";
  c.fault = nullptr;
  c.n = count;
  c.data[0] = static_cast<char*>(to);
  c.data[1] = static_cast<char*>(const_cast<void*>(from));
  c.type[0] = c.type[1] = kOfSize[which];
  for (int k = 0; k < 2; ++k) c.geometry.stride[k][0] = size;
  if (value) std::memcpy(c.numbers.of[0], value, size_t(size));
  return take(c, list_of_copies(size), device, nullptr, 0);
}

void OpenList::launch() {
  if (waiting_.empty()) return;
  const std::vector<Waiting> all = std::move(waiting_);
  const std::vector<StorageRef> held = std::move(held_);  // given back when the launches are in the stream
  waiting_.clear();
  held_.clear();
  spans_.clear();
  bytes_ = 0;
  std::vector<const Waiting*> order;
  for (const Waiting& w : all) order.push_back(&w);
  const auto is_before = [](const Waiting* a, const Waiting* b) {
    return a->level != b->level ? a->level < b->level : std::memcmp(&a->formula, &b->formula, sizeof a->formula) < 0;
  };
  std::stable_sort(order.begin(), order.end(), is_before);
  const DeviceGuard guard(device_);
  tell_of_work(stream_);
  std::vector<ListedCall> calls;
  for (size_t i = 0; i < order.size(); ++i) {
    calls.push_back(order[i]->call);
    if (i + 1 < order.size() && !is_before(order[i], order[i + 1])) continue;
    order[i]->formula.launch(order[i]->formula, calls.data(), int(calls.size()), stream_.handle);
    calls.clear();
  }
}

}  // namespace torch::cuda
