#include "shadow.h"

namespace cuda_host {

std::vector<Finding>& findings() {
  static std::vector<Finding> all;
  return all;
}

void Shadow::launch(const Launch& l) {
  kernel_ = l.kernel;
  ++launch_;
  after_all_ = false;
  warps_.assign((l.block.x * l.block.y * l.block.z + kWarp - 1) / kWarp, Warp());
}
void Shadow::thread(uint32_t block, uint32_t thread) { block_ = block, thread_ = thread; }
void Shadow::end_block() {
  ++barrier_;
  after_all_ = false;
  for (Warp& w : warps_) w = Warp();
  std::erase_if(regions_, [](auto& r) { return r.second.shared; });
  last_ = nullptr;
  requests_.end_block();
}

// All lanes of the mask know from now on what each of them has done and knew.
void Shadow::warp_in_order(uint32_t warp, uint32_t mask) {
  Warp& w = warps_[warp];
  const uint32_t time = w.time++;
  uint32_t known[kWarp] = {};
  for (int i = 0; i < kWarp; ++i)
    if (mask >> i & 1)
      for (int j = 0; j < kWarp; ++j) known[j] = std::max(known[j], mask >> j & 1 ? time : w.seen[i][j]);
  for (int i = 0; i < kWarp; ++i)
    if (mask >> i & 1) std::copy(known, known + kWarp, w.seen[i]);
}

void Shadow::add(void* p, size_t bytes, int device, bool shared) {
  auto* begin = static_cast<char*>(p);
  regions_[begin] = {begin, bytes, device, shared, std::vector<Byte>(bytes)};
  last_ = nullptr;
}
void Shadow::remove(void* p) {
  regions_.erase(static_cast<char*>(p));
  last_ = nullptr;
}
void Shadow::written(void* p, size_t bytes) {
  if (Region* r = find(p))
    for (size_t i = 0; i < bytes; ++i) r->of[size_t(static_cast<char*>(p) - r->begin) + i].written = true;
}
void Shadow::copied(void* to, const void* from, size_t bytes) {
  Region *a = find(from), *b = find(to);
  if (!a || !b) return;
  const size_t x = size_t(static_cast<const char*>(from) - a->begin), y = size_t(static_cast<char*>(to) - b->begin);
  for (size_t i = 0; i < bytes; ++i) b->of[y + i].written = a->of[x + i].written;
}

Shadow::Region* Shadow::find(const void* p) {
  const char* c = static_cast<const char*>(p);
  if (last_ && c >= last_->begin && c < last_->begin + last_->bytes) return last_;
  auto at = regions_.upper_bound(const_cast<char*>(c));
  if (at == regions_.begin()) return nullptr;
  Region& r = (--at)->second;
  return c < r.begin + r.bytes ? last_ = &r : nullptr;
}

Stamp Shadow::now(bool atomic, const void* line) const {
  const uint32_t warp = thread_ / kWarp;
  return {.launch = launch_,
          .block = block_,
          .barrier = barrier_,
          .time = warps_[warp].time,
          .lanes = 1u << thread_ % kWarp,
          .warp = uint16_t(warp),
          .atomic = atomic,
          .line = line};
}

bool Shadow::unordered(const Stamp& before, const Stamp& mine) const {
  if (before.launch != mine.launch || (before.atomic && mine.atomic)) return false;
  if (before.block != mine.block || before.many_blocks) return !after_all_;
  if (before.barrier != mine.barrier) return false;
  if (before.warp != mine.warp || before.many_warps) return true;
  const uint32_t* seen = warps_[mine.warp].seen[thread_ % kWarp];
  for (uint32_t others = before.lanes & ~mine.lanes; others; others &= others - 1)
    if (seen[__builtin_ctz(others)] < before.time) return true;
  return false;
}

void Shadow::note_read(Byte& byte, const Stamp& mine) {
  Stamp next = mine;
  const Stamp& last = byte.read;
  if (last.launch == mine.launch) {
    next.many_blocks = last.block != mine.block || last.many_blocks;
    if (last.block == mine.block && last.barrier == mine.barrier) {
      next.many_warps = last.warp != mine.warp || last.many_warps;
      if (last.warp == mine.warp) next.lanes |= last.lanes;
      next.atomic &= last.atomic;
    }
  }
  byte.read = next;
}

void Shadow::check_race(const Region& r, Byte& byte, const Stamp& mine, bool store) {
  const Stamp* other = nullptr;
  if (unordered(byte.write, mine)) other = &byte.write;
  if (!other && store && unordered(byte.read, mine)) other = &byte.read;
  if (!other) return;
  reported_ = true;
  report("race", (r.shared ? "shared memory: " : "") + who(*other) + (other == &byte.write ? " writes" : " reads") +
                     ", and " + who(mine) + (store ? " writes" : " reads") + ", in no order");
}

void Shadow::touch(void* p, size_t bytes, bool store, bool atomic, const void* line) {
  const char* c = static_cast<char*>(p);
  const char* mine = reinterpret_cast<const char*>(&place);
  if (!in_kernel() || on_stack(p) || (c >= mine && c < mine + sizeof place)) return;
  Region* r = find(p);
  if (!r || c + bytes > r->begin + r->bytes) return outside(p, store, line);
  if (!r->shared && r->device != running_device())
    report("outside", "memory of device " + std::to_string(r->device) + " in a kernel of device " +
                          std::to_string(running_device()) + ": " + line_of(line));
  if (counts_traffic()) requests_.touch(kernel_, thread_ / kWarp, thread_ % kWarp, p, bytes, store, r->shared, line);
  const Stamp stamp = now(atomic, line);
  bool unwritten = false;
  reported_ = false;
  for (size_t i = 0; i < bytes; ++i) {
    Byte& byte = r->of[size_t(c - r->begin) + i];
    if (!reported_) check_race(*r, byte, stamp, store);
    if (store) {
      byte.write = stamp;
      byte.written = true;
    } else {
      unwritten |= !byte.written;
      note_read(byte, stamp);
    }
  }
  if (unwritten)
    report("uninitialised",
           who(stamp) + (r->shared ? " reads shared memory" : " reads device memory") + " that nobody wrote");
}

void Shadow::outside(const void* p, bool store, const void* line) {
  if (!store && is_constant(p)) return;
  report("outside", std::string(store ? "writes" : "reads") + " memory that is not the device's: " + line_of(line) +
                        ", block " + std::to_string(block_) + " thread " + std::to_string(thread_));
}
void Shadow::report(const char* kind, const std::string& text) {
  if (findings().size() < 100) findings().push_back({kind, kernel_ + ": " + text});
}
std::string Shadow::who(const Stamp& s) const {
  return "block " + std::to_string(s.block) + " thread " + std::to_string(s.warp * kWarp + __builtin_ctz(s.lanes)) +
         " at " + line_of(s.line);
}

}  // namespace cuda_host
