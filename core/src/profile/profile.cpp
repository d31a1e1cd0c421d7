// Sessions of the profiler, and what threads write while one is open.
#include "profile/profile.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#if TORCH_X86
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "os/os.h"
#include "torch/core/init.h"
#include "torch/core/thread_end.h"

namespace torch::profile {

uint64_t (*next_sequence)() noexcept = nullptr;
int (*capture_stack)(uint64_t*) noexcept = nullptr;
void (*mark_device)(Handle, bool) noexcept = nullptr;
constinit std::atomic<uint32_t> wanted{0};

namespace {

// --- time ---

int64_t clock_ns(clockid_t id) noexcept {
  timespec t;
  clock_gettime(id, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// The processor's counter where it runs at one speed whatever the processor does.
bool counter_is_steady() noexcept {
#if TORCH_X86
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
  return false;
#endif
}
bool use_counter = false;  // set before the first record

// Counter and clock read at one moment: of some tries, the one that took the least time.
struct Moment {
  uint64_t tick;
  int64_t ns;
};
Moment moment() noexcept {
  Moment best{};
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    const uint64_t before = ticks();
    const int64_t ns = clock_ns(CLOCK_MONOTONIC);
    const uint64_t after = ticks();
    if (after - before < least) least = after - before, best = {before + (after - before) / 2, ns};
  }
  return best;
}

// --- sessions and buffers ---

struct Session {
  uint32_t wants;
  uint64_t from, to;  // ticks; to: 0 while it runs
  int64_t wall_start;
  uint64_t dropped;  // by others, before
};

struct State {
  std::mutex mutex;  // guards what follows; threads take it once, for their first record
  std::vector<Buffer*> buffers;
  std::map<uint64_t, Session> sessions;
  uint64_t last_session = 0;
  uint32_t last_thread = 0;
  Moment anchor{};  // of the first session
};
// Never destroyed: threads may outlive static objects.
State& state() {
  static State& s = *new State;
  return s;
}

std::atomic<uint64_t> limit{uint64_t{256} << 20}, held{0}, dropped{0};

void free_chunk(Chunk* c) noexcept {
  held.fetch_sub(c->capacity * sizeof(uint64_t), std::memory_order_relaxed);
  std::free(c);
}

constinit thread_local bool buffer_closed = false;  // before the pointer, so that it fills the room behind it
constinit thread_local Buffer* buffer = nullptr;
void close_buffer() noexcept {
  if (buffer) buffer->ended.store(true, std::memory_order_release);
  buffer = nullptr;
  buffer_closed = true;
}

TORCH_NOINLINE Buffer* open_buffer() noexcept {
  if (buffer_closed) return nullptr;
  auto* b = new (std::nothrow) Buffer;
  if (!b) return nullptr;
  at_thread_end(close_buffer);
  char name[16] = "";
  os::thread_name(name, sizeof name);
  b->name = name;
  b->system_id = os::thread_id();
  State& s = state();
  std::lock_guard lock(s.mutex);
  b->number = ++s.last_thread;
  s.buffers.push_back(b);
  return buffer = b;
}

constexpr uint32_t kFirstWords = 4096 - 16, kMoreWords = 32768 - 16;

// Room for `n` words at the end of the thread's buffer; null when there is none. What ends is noted beyond the limit,
// for the sake of what began below it, in chunks that have room for nothing else.
TORCH_NOINLINE uint64_t* new_chunk(Buffer& b, size_t n, bool beyond_limit) noexcept {
  size_t capacity = std::max<size_t>(n, b.tail ? kMoreWords : kFirstWords), bytes = capacity * sizeof(uint64_t);
  if (held.load(std::memory_order_relaxed) + bytes > limit.load(std::memory_order_relaxed)) {
    if (!beyond_limit) return nullptr;
    capacity = n, bytes = n * sizeof(uint64_t);
  }
  void* memory = std::malloc(sizeof(Chunk) + bytes);
  if (!memory) return nullptr;
  held.fetch_add(bytes, std::memory_order_relaxed);
  auto* c = new (memory) Chunk;
  c->capacity = uint32_t(capacity);
  c->first_serial = b.serial;
  if (b.tail) {
    b.tail->next.store(c, std::memory_order_release);
  } else {
    std::lock_guard lock(state().mutex);
    b.first = c;
  }
  b.tail = c;
  return c->words();
}
inline uint64_t* reserve(Buffer& b, size_t n, bool beyond_limit = false) noexcept {
  Chunk* c = b.tail;
  if (TORCH_LIKELY(c != nullptr)) {
    const uint32_t used = c->used.load(std::memory_order_relaxed);
    if (TORCH_LIKELY(used + n <= c->capacity)) return c->words() + used;
  }
  return new_chunk(b, n, beyond_limit);
}
inline void publish(Buffer& b, size_t n) noexcept {
  b.tail->used.store(b.tail->used.load(std::memory_order_relaxed) + uint32_t(n), std::memory_order_release);
}

inline Buffer* here() noexcept { return TORCH_LIKELY(buffer != nullptr) ? buffer : open_buffer(); }

// --- arguments ---

template <class T>
const T& as(const void* p) noexcept {
  return *static_cast<const T*>(p);
}

// Writes arguments as words, or counts them when `to` is null.
struct Encoder {
  uint64_t* to;
  size_t count = 0;

  void put(uint64_t w) noexcept {
    if (to) to[count] = w;
    ++count;
  }
  void head(Argument kind, uint64_t n = 0, DType dtype = {}) noexcept { put(argument_head(kind, dtype, n)); }
  void tensor(const Tensor& t) noexcept {
    if (!t) return head(Argument::None);
    head(Argument::Tensor, uint64_t(t.dim()), t.dtype());
    for (int64_t n : t.sizes()) put(uint64_t(n));
  }
  void number(const Scalar& s) noexcept {
    if (s.kind() == Scalar::Kind::Bool) return head(Argument::Bool), put(s.to_int());
    if (s.is_integral()) return head(Argument::Int), put(uint64_t(s.to_int()));
    if (s.kind() == Scalar::Kind::Float) return real(s.to_double());
    head(Argument::Complex);
    put(std::bit_cast<uint64_t>(s.to_complex().real()));
    put(std::bit_cast<uint64_t>(s.to_complex().imag()));
  }
  void real(double d) noexcept {
    head(Argument::Float);
    put(std::bit_cast<uint64_t>(d));
  }
  void list(IntArrayRef v) noexcept {
    head(Argument::IntList, v.size());
    for (int64_t n : v) put(uint64_t(n));
  }
  template <class T, class F>
  void maybe(bool optional, const void* p, F f) noexcept {
    if (!optional) return f(as<T>(p));
    const auto& o = as<std::optional<T>>(p);
    o ? f(*o) : head(Argument::None);
  }
  void argument(const Parameter& p, const void* at) noexcept {
    switch (p.kind) {
      case Kind::Tensor:
        return tensor(as<Tensor>(at));
      case Kind::TensorList:
        head(Argument::TensorList, as<TensorList>(at).size());
        for (const Tensor& t : as<TensorList>(at)) tensor(t);
        return;
      case Kind::Int:
        return maybe<int64_t>(p.optional, at, [&](int64_t i) { head(Argument::Int), put(uint64_t(i)); });
      case Kind::Bool:
        return maybe<bool>(p.optional, at, [&](bool b) { head(Argument::Bool), put(b); });
      case Kind::Float:
        return maybe<double>(p.optional, at, [&](double d) { real(d); });
      case Kind::IntList:
        return maybe<IntArrayRef>(p.optional, at, [&](IntArrayRef v) { list(v); });
      case Kind::Scalar:
        return maybe<Scalar>(p.optional, at, [&](const Scalar& s) { number(s); });
      default:
        return head(Argument::Other);
    }
  }
  void all(const Schema& s, const void* const* arguments) noexcept {
    for (int i = 0; i < s.count; ++i) argument(s.params[i], arguments[i]);
  }
};

constexpr size_t kBeginWords = 4, kEndWords = 3, kMemoryWords = 4;

uint64_t sequence_now() noexcept { return next_sequence ? next_sequence() : ~uint64_t{0}; }

Handle begin(Record kind, Scope scope, uint64_t name, uint64_t sequence, std::string_view text, const Schema* op,
             const void* const* arguments) noexcept {
  Buffer* b = here();
  if (!b) return 0;
  const uint32_t wants = wanted.load(std::memory_order_relaxed);
  size_t argument_words = 0, stack_words = 0;
  uint64_t stack[kStackWords];
  if ((wants & kShapes) && op) {
    Encoder counter{nullptr};
    counter.all(*op, arguments);
    if (counter.count <= kMaxArgumentWords) argument_words = counter.count;
  }
  if ((wants & kStacks) && capture_stack) stack_words = size_t(capture_stack(stack));
  const size_t text_words = (text.size() + 7) / 8;
  const size_t n = kBeginWords + text_words + argument_words + stack_words;
  uint64_t* w = reserve(*b, n);
  if (TORCH_UNLIKELY(!w)) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  w[0] = uint64_t(kind) | uint64_t(scope) << kScopeBit | argument_words << kArgumentsBit | stack_words << kStackBit |
         text_words << kTextBit;
  w[2] = name;
  w[3] = sequence;
  uint64_t* more = w + kBeginWords;
  if (text_words) {
    more[text_words - 1] = 0;
    std::memcpy(more, text.data(), text.size());
    more += text_words;
  }
  if (argument_words) {
    Encoder{more}.all(*op, arguments);
    more += argument_words;
  }
  if (stack_words) std::memcpy(more, stack, stack_words * sizeof(uint64_t));
  const Handle handle = handle_of(b->serial++, b->number);
  if ((wants & kDevice) && mark_device) mark_device(handle, false);
  w[1] = ticks();  // last: what noting costs counts for the event around
  publish(*b, n);
  return handle;
}

}  // namespace

uint64_t ticks() noexcept {
#if TORCH_X86
  if (TORCH_LIKELY(use_counter)) return __rdtsc();
#endif
  return uint64_t(clock_ns(CLOCK_MONOTONIC));
}

Handle begin(const Schema& op, const void* const* arguments) noexcept {
  return begin(Record::Operator, Scope::Function, reinterpret_cast<uint64_t>(&op), sequence_now(), {}, &op, arguments);
}
Handle begin_backward(const Schema& of, int64_t sequence) noexcept {
  if (!on()) return 0;
  return begin(Record::Backward, Scope::Backward, reinterpret_cast<uint64_t>(&of), uint64_t(sequence), {}, nullptr,
               nullptr);
}
Handle begin(Scope scope, std::string_view name, int64_t sequence) noexcept {
  if (!on()) return 0;
  name = name.substr(0, kMaxTextWords * 8);
  return begin(Record::Named, scope, name.size(), scope == Scope::Function ? sequence_now() : uint64_t(sequence), name,
               nullptr, nullptr);
}

// A handle is the head of its end.
void end(Handle handle) noexcept {
  const uint64_t now = ticks();
  if (!handle) return;
  if ((wanted.load(std::memory_order_relaxed) & kDevice) && mark_device) mark_device(handle, true);
  Buffer* b = here();
  uint64_t* w = b ? reserve(*b, kEndWords, true) : nullptr;
  if (!w) return;
  w[0] = handle;
  w[1] = now;
  w[2] = sequence_now();
  publish(*b, kEndWords);
}

void note_memory(const void* address, int64_t bytes) noexcept {
  Buffer* b = here();
  uint64_t* w = b ? reserve(*b, kMemoryWords) : nullptr;
  if (!w) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  w[0] = uint64_t(Record::Memory);
  w[1] = ticks();
  w[2] = uint64_t(bytes);
  w[3] = reinterpret_cast<uint64_t>(address);
  publish(*b, kMemoryWords);
}

// --- start and stop ---

namespace {

// What operators are to do, from the sessions that run. Called with the lock held.
void update(State& s) noexcept {
  uint32_t wants = 0;
  bool any = false;
  for (const auto& [id, session] : s.sessions)
    if (!session.to) any = true, wants |= session.wants;
  wanted.store(wants, std::memory_order_relaxed);
  profiling_key.store(any ? key(DispatchKey::Profile) : Keys(0), std::memory_order_release);
}

void prepare_once() {
  [[maybe_unused]] static const bool done = [] {
    init();
#ifdef TORCH_WITHOUT_PROFILER
    throw_error(ErrorKind::NotImplemented, "the profiler is not in this build of torch-core (TORCH_FAMILIES)");
#endif
    fill_functions();
    use_counter = counter_is_steady();
    state().anchor = moment();
    os::at_fork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); },
                [] {
                  State& s = state();  // what was begun is the parent's to end
                  for (auto& [id, session] : s.sessions)
                    if (!session.to) session.to = ticks();
                  for (Buffer* b : s.buffers) b == buffer ? void(b->system_id = os::thread_id()) : b->ended.store(true);
                  update(s);
                  s.mutex.unlock();
                });
    return true;
  }();
}

// When recording has ended: frees what no thread can be writing to.
void release(State& s) noexcept {
  for (Buffer*& b : s.buffers) {
    const bool ended = b->ended.load(std::memory_order_acquire);
    while (Chunk* c = b->first) {
      Chunk* next = c->next.load(std::memory_order_acquire);
      if (!next && !ended) break;
      free_chunk(c);
      b->first = next;
    }
    if (ended) delete std::exchange(b, nullptr);
  }
  std::erase(s.buffers, nullptr);
}

}  // namespace

void set_limit(uint64_t bytes) noexcept { limit.store(bytes, std::memory_order_relaxed); }

uint64_t start(uint32_t wants) {
  prepare_once();
  State& s = state();
  std::lock_guard lock(s.mutex);
  const uint64_t id = ++s.last_session;
  s.sessions[id] = {wants, ticks(), 0, clock_ns(CLOCK_REALTIME), dropped.load(std::memory_order_relaxed)};
  update(s);
  return id;
}

Recording stop(uint64_t id) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  auto at = s.sessions.find(id);
  TORCH_CHECK(at != s.sessions.end(), "profile::stop: there is no session ", id, ", or it was stopped before");
  Session session = at->second;
  if (!session.to) session.to = ticks();
  s.sessions.erase(at);
  update(s);

  // The counter's speed, from the first session until now; the longer, the better known.
  Moment now = moment();
  while (now.ns - s.anchor.ns < 2'000'000) now = moment();
  const Clock clock{session.from, double(now.ns - s.anchor.ns) / double(now.tick - s.anchor.tick)};

  Recording r;
  r.wall_start = session.wall_start;
  r.duration = int64_t(double(session.to - session.from) * clock.rate);
  r.dropped = dropped.load(std::memory_order_relaxed) - session.dropped;
  read(s.buffers, session.from, session.to, clock, r);
  if (std::none_of(s.sessions.begin(), s.sessions.end(), [](const auto& one) { return !one.second.to; })) release(s);
  return r;
}

}  // namespace torch::profile
