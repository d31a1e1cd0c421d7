#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <random>

namespace cuda_host {

Place place{};
Watcher watcher;

namespace {

constexpr size_t kShared = 227 << 10, kStatic = 48 << 10, kPage = 4096;  // what an sm_90 gives a block

uint3 index_in(dim3 d, unsigned i) { return {i % d.x, i / d.x % d.y, i / d.x / d.y}; }
std::string name_of(uint3 i) {
  return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
}
size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Block& the_block() {
  static Block& block = *new Block;
  return block;
}

Block::Block()
    : shared_(static_cast<char*>(
          mmap(nullptr, kShared + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
  mprotect(shared_ + kShared / kPage * kPage + kPage, kPage, PROT_NONE);
}
Block::~Block() { munmap(shared_, kShared + kPage); }

// --- fibers ---

void Block::fiber_main() {
  Fiber::entered();
  Block& b = the_block();
  Stack& stack = *b.current_->fiber;
  for (;;) {
    for (;;) {
      Thread& t = *stack.thread;
      b.enter(t);
      try {
        b.body_->call(b.body_->arguments.get());
      } catch (const Abort&) {
      }
      b.finished(t);
      if (b.next_ == b.ready_.size() || b.threads_[b.ready_[b.next_]].state != State::Fresh) break;
      stack.thread = &b.threads_[b.ready_[b.next_++]];
      stack.thread->fiber = &stack;
    }
    stack.thread = nullptr;
    b.idle_.push_back(&stack);
    if (Fiber& to = b.next_fiber(); &to != &stack) switch_fibers(stack, to);
  }
}

void Block::make_ready(Thread& t) {
  if (next_ == ready_.size()) ready_.clear(), next_ = 0;
  t.state = State::Ready;
  ready_.push_back(t.index);
}
// Before all others: a warp goes on while its stacks are in the cache.
void Block::make_ready_first(Thread& t) {
  if (next_ == 0) return make_ready(t);
  t.state = State::Ready;
  ready_[--next_] = t.index;
}

// Where to go on: a thread that is ready, else the loop of run().
Fiber& Block::next_fiber() {
  if (next_ == ready_.size()) return main_;
  if (seed_) std::swap(ready_[next_], ready_[next_ + random() % (ready_.size() - next_)]);
  Thread& t = threads_[ready_[next_++]];
  if (!t.fiber) {
    if (idle_.empty()) {
      stacks_.push_back(std::make_unique<Stack>(&fiber_main, stacks_.size()));
      idle_.push_back(stacks_.back().get());
    }
    t.fiber = idle_.back();
    t.fiber->thread = &t;
    idle_.pop_back();
  }
  current_ = &t;
  return *t.fiber;
}

void Block::enter(Thread& t) {
  current_ = &t;
  t.state = State::Running;
  place.thread = indices_[t.index];
  if (watcher.thread)
    watcher.thread((place.block.z * launch_->grid.y + place.block.y) * launch_->grid.x + place.block.x, t.index);
}
void Block::wait(Thread& t) {
  if (Fiber& to = next_fiber(); &to != t.fiber) switch_fibers(*t.fiber, to);
  enter(t);
  if (aborting_) throw Abort();
}

// --- waiting ---

void Block::release_barrier() {
  arrived_ = 0;
  if (watcher.barrier) watcher.barrier();
  if (current_->state == State::Barrier) current_->state = State::Running;  // the last to come
  for (Thread& t : threads_)
    if (t.state == State::Barrier) make_ready(t);
}
void Block::finished(Thread& t) {
  t.state = State::Done;
  t.fiber = nullptr;
  --alive_;
  if (alive_ && arrived_ == alive_) release_barrier();
}

void Block::barrier(Line line) {
  Thread& t = *current_;
  if (arrived_ == 0) barrier_line_ = line;
  if (barrier_line_.line() != line.line())
    fail(cudaErrorLaunchFailure,
         "threads of one block wait at different barriers: " + where(barrier_line_) + " and " + where(line), line);
  t.line = line;
  t.state = State::Barrier;
  if (++arrived_ == alive_) {
    release_barrier();
    if (!seed_) return;
    make_ready(t);  // in a shuffled order the last to come is not the first to go on
  }
  wait(t);
}

void Block::meet(uint32_t mask, Finish finish, void* record, bool ordered, Line line) {
  Thread& t = *current_;
  const unsigned warp = t.index / kWarp, bit = 1u << t.index % kWarp;
  if (!(mask & bit)) fail(cudaErrorLaunchFailure, "a lane calls a warp collective whose mask leaves it out", line);
  t.finish = finish;
  t.record = record;
  t.line = line;
  t.mask = mask;
  t.state = State::Warp;
  in_warp_[warp] |= bit;
  if ((in_warp_[warp] & mask) != mask) return wait(t);
  void* records[kWarp];
  Thread* lanes = &threads_[warp * kWarp];
  bool together = true;
  each_lane(mask, [&](int i) {
    together &= lanes[i].mask == mask && lanes[i].finish == finish && lanes[i].line.line() == line.line();
    records[i] = lanes[i].record;
  });
  if (!together) return wait(t);  // it stays stuck, and is told so
  running_ = false;               // what follows is the hardware of the warp, no kernel's code
  finish(mask, records, line);
  running_ = true;
  if (ordered && watcher.warp) watcher.warp(warp, mask);
  in_warp_[warp] &= ~mask;
  t.state = State::Running;
  each_lane(mask & ~bit, [&](int i) { make_ready_first(lanes[i]); });
}

// --- shared memory ---

void* Block::shared_block(const void* key, size_t bytes, size_t alignment, Line line) {
  for (const Shared& s : shared_blocks_)
    if (s.key == key) return shared_ + s.offset;
  const size_t offset = rounded(shared_used_, alignment), dynamic = rounded(launch_->shared, 16);
  if (offset + bytes > kShared || offset + bytes - dynamic > kStatic)
    fail(cudaErrorInvalidConfiguration, "more than 48 KiB of shared memory that is no argument of the launch", line);
  shared_used_ = offset + bytes;
  shared_blocks_.push_back({key, offset});
  std::memset(shared_ + offset, 0xff, bytes);  // NaN, -1: what the block has not written
  if (watcher.shared) watcher.shared(shared_ + offset, bytes);
  return shared_ + offset;
}
void* Block::dynamic_shared(Line line) {
  if (!launch_->shared) fail(cudaErrorInvalidConfiguration, "the launch gives this kernel no shared memory", line);
  return shared_;
}

// --- errors ---

std::string Block::where_now(Line line) const {
  return " (" + (line.line() ? where(line) + ", " : "") + "block " + name_of(place.block) + ", thread " +
         name_of(place.thread) + ")";
}

void Block::fail(int error, const std::string& what, Line line) {
  running_ = true;
  current_->state = State::Running;
  record_error(error, std::string(launch_->kernel) + ": " + what + where_now(line));
  aborting_ = true;
  for (Thread& t : threads_)
    if (t.state == State::Barrier || t.state == State::Warp) make_ready(t);
  throw Abort();
}

void Block::fault(const std::string& what) {
  record_error(cudaErrorIllegalAddress, std::string(launch_->kernel) + ": " + what + where_now(Line()));
  main_.leave_for();
  siglongjmp(recover_, 1);
}

// After a fault: what the fibers hold is lost.
void Block::give_up_fibers() {
  main_.arrived();
  stacks_.clear();
  idle_.clear();
  current_ = nullptr;
}

std::string Block::stuck() const {
  std::string text;
  unsigned returned = 0;
  std::vector<std::string> seen;
  for (const Thread& t : threads_) {
    if (t.state == State::Done) ++returned;
    if (t.state != State::Barrier && t.state != State::Warp) continue;
    const std::string at = (t.state == State::Barrier ? "a barrier at " : "a warp collective at ") + where(t.line);
    if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
    seen.push_back(at);
    text += (text.empty() ? "thread " : ", thread ") + name_of(index_in(launch_->block, t.index)) + " waits in " + at;
  }
  return text + (returned ? ", " + std::to_string(returned) + " threads have returned" : "");
}

// --- the loop ---

void Block::begin(const Launch& launch, const Body& body, uint64_t seed) {
  launch_ = &launch;
  body_ = &body;
  seed_ = seed;
  place.block_dim = launch.block;
  place.grid_dim = launch.grid;
  if (indexed_.x != launch.block.x || indexed_.y != launch.block.y || indexed_.z != launch.block.z) {
    indexed_ = launch.block;
    indices_.resize(indexed_.x * indexed_.y * indexed_.z);
    for (unsigned i = 0; i < indices_.size(); ++i) indices_[i] = index_in(indexed_, i);
  }
  main_.enter();
  running_ = true;
}

void Block::run(uint3 index) {
  place.block = index;
  const unsigned count = launch_->block.x * launch_->block.y * launch_->block.z;
  threads_.assign(count, Thread());
  in_warp_.assign((count + kWarp - 1) / kWarp, 0);
  ready_.resize(count);
  for (unsigned i = 0; i < count; ++i) threads_[i].index = ready_[i] = uint16_t(i);
  if (seed_) std::shuffle(ready_.begin(), ready_.end(), std::minstd_rand(unsigned(random())));
  next_ = arrived_ = 0;
  alive_ = count;
  aborting_ = false;
  shared_blocks_.clear();
  shared_used_ = rounded(launch_->shared, 16);
  std::memset(shared_, 0xff, shared_used_);
  if (launch_->shared && watcher.shared) watcher.shared(shared_, launch_->shared);

  while (alive_) {
    if (sigsetjmp(recover_, 0)) {
      give_up_fibers();
      break;
    }
    if (Fiber& first = next_fiber(); &first != &main_) switch_fibers(main_, first);
    if (alive_ && next_ == ready_.size()) {
      if (!aborting_)
        record_error(cudaErrorLaunchFailure,
                     std::string(launch_->kernel) + ": block " + name_of(index) + " cannot go on: " + stuck());
      aborting_ = true;
      for (Thread& t : threads_)
        if (t.state == State::Barrier || t.state == State::Warp) make_ready(t);
    }
  }
  if (watcher.end_block) watcher.end_block();
}

// --- what kernels call ---

int lane() noexcept { return the_block().lane(); }
bool in_kernel() noexcept { return the_block().running(); }
bool on_stack(const void* p) noexcept { return the_block().on_stack(p); }
void barrier(Line line) { the_block().barrier(line); }
void meet(uint32_t mask, Finish finish, void* record, bool ordered, Line line) {
  the_block().meet(mask, finish, record, ordered, line);
}
void* shared_block(const void* key, size_t bytes, size_t alignment, Line line) {
  return the_block().shared_block(key, bytes, alignment, line);
}
void* dynamic_shared(Line line) { return the_block().dynamic_shared(line); }
void after_all_blocks() noexcept {
  if (watcher.last_block) watcher.last_block();
}
void fail(int error, const std::string& what, Line line) { the_block().fail(error, what, line); }

}  // namespace cuda_host
