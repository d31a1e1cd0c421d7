#include "cuda/device_times.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cuda/listed.h"
#include "torch/core/profile.h"

namespace torch::cuda {

namespace {

using Place = std::pair<int, cudaStream_t>;

class Moment {
 public:
  explicit Moment(cudaStream_t stream) {
    check(cudaEventCreateWithFlags(&event_, 0), "making an event");
    check(cudaEventRecord(event_, stream), "recording an event");
  }
  ~Moment() { cudaEventDestroy(event_); }
  Moment(const Moment&) = delete;
  void wait() const { check(cudaEventSynchronize(event_), "waiting for an event"); }
  double since(const Moment& earlier) const {  // microseconds
    float ms = 0;
    check(cudaEventElapsedTime(&ms, earlier.event_, event_), "asking two events");
    return double(ms) * 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};
using MomentPtr = std::shared_ptr<Moment>;

struct Open {
  std::map<Place, MomentPtr> begins;
};
struct Closed {
  uint64_t range;
  Place place;
  MomentPtr begin, end;
};
struct Origin {  // a moment of which both clocks know
  MomentPtr moment;
  double wall;  // microseconds
};

struct State {
  std::mutex mutex;
  int sessions = 0;
  std::unordered_map<uint64_t, Open> open;
  std::vector<Closed> closed;
  std::map<int, Origin> origins;
  std::map<Place, MomentPtr> last_end;  // nothing was given to the stream since
};
State& state() {
  static auto& s = *new State;
  return s;
}
thread_local std::vector<uint64_t> ranges;  // of this thread that may be open

double wall_us() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return double(t.tv_sec) * 1e6 + double(t.tv_nsec) / 1e3;
}

// The first time that a device is met, it is waited for.
void find_origin(State& s, int device, cudaStream_t stream) {
  if (s.origins.count(device)) return;
  check(cudaDeviceSynchronize(), "waiting for the device");
  auto moment = std::make_shared<Moment>(stream);
  moment->wait();
  s.origins[device] = {std::move(moment), wall_us()};
}

void mark(profile::Handle range, bool ends) noexcept try {
  if (!ends) return ranges.push_back(range);
  std::erase(ranges, range);
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto at = s.open.find(range);
  if (at == s.open.end()) return;
  for (auto& [place, begin] : at->second.begins) {
    const DeviceGuard guard(place.first);
    MomentPtr& end = s.last_end[place];
    if (!end) end = std::make_shared<Moment>(place.second);
    s.closed.push_back({range, place, begin, end});
  }
  s.open.erase(at);
} catch (...) {  // a profile without this time is better than a program without its end
}

std::atomic<bool> listens{false};
void work_comes(const Stream& stream) noexcept try {
  if (ranges.empty() || is_capturing(stream)) return;  // replays are timed, not what they are made of
  const int device = stream.device;
  const DeviceGuard guard(device);
  const Place place{device, stream.handle};
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.sessions) return ranges.clear();
  find_origin(s, device, stream.handle);
  s.last_end[place] = nullptr;
  MomentPtr now;
  for (uint64_t range : ranges) {
    MomentPtr& begin = s.open[range].begins[place];
    if (begin) continue;
    if (!now) now = std::make_shared<Moment>(stream.handle);
    begin = now;
  }
} catch (...) {
}

}  // namespace

void tell_of_work(const Stream& stream) noexcept {
  if (TORCH_UNLIKELY(listens.load(std::memory_order_relaxed))) work_comes(stream);
}
Stream current_stream(int device) {
  launch_listed();
  const Stream stream = chosen_stream(device);
  tell_of_work(stream);
  return stream;
}

void start_device_times() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  ++s.sessions;
  profile::mark_device = mark;
  listens = true;
}

std::vector<DeviceTime> stop_device_times() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  std::vector<DeviceTime> found;
  for (const Closed& c : s.closed) {
    const DeviceGuard guard(c.place.first);
    c.end->wait();
    const Origin& origin = s.origins.at(c.place.first);
    found.push_back({c.range, c.place.first, reinterpret_cast<uint64_t>(c.place.second),
                     origin.wall + c.begin->since(*origin.moment), c.end->since(*c.begin)});
  }
  if (--s.sessions == 0) {
    listens = false;
    s.open.clear(), s.closed.clear(), s.origins.clear(), s.last_end.clear();
  }
  return found;
}

}  // namespace torch::cuda
