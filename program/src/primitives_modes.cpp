// Modes of the host, and comparisons of enums.
#include <cstdio>

#include "primitives.h"
#include "torch/core/autocast.h"
#include "torch/core/profile.h"
#include "torch/core/random.h"
#include "torch/program/modes.h"

namespace torch::program {

namespace {

GradMode grad_mode{[] { return false; }, [](bool) {}};
WarnTo warn_to = [](const std::string& text, int64_t) { std::fprintf(stderr, "Warning: %s\n", text.c_str()); };

// What autocast was: whether it was on, of which dtype, and whether conversions are kept.
Cell autocast_enter(const std::string& device, bool on, const Cell& dtype, const Cell& cache) {
  const DeviceType type = parse_device(device).type;
  std::vector<Cell> before{Cell(int64_t(autocast::is_enabled(type))), Cell(number_of(autocast::dtype(type))),
                           Cell(int64_t(autocast::is_cache_enabled()))};
  if (!dtype.is_none()) autocast::set_dtype(type, dtype_of_number(dtype.to_int()));
  if (!cache.is_none()) autocast::set_cache_enabled(cache.to_bool());
  autocast::set_enabled(type, on);
  autocast::enter();
  return Cell::list(std::move(before), int_type());
}
void autocast_leave(const std::string& device, const std::vector<Cell>& before) {
  const DeviceType type = parse_device(device).type;
  autocast::leave();
  autocast::set_enabled(type, before.at(0).to_int() != 0);
  autocast::set_dtype(type, dtype_of_number(before.at(1).to_int()));
  autocast::set_cache_enabled(before.at(2).to_int() != 0);
}

// Ranges of the profiler that programs have open on this thread. A program has the place of its own: a handle that an
// archive made up would be a record of anything.
thread_local std::vector<profile::Handle> ranges;

// Text beside the name stands behind a NUL; 0 where none records.
int64_t range_enter(const std::string& name, const Cell& args) {
  if (!profile::on()) return 0;
  ranges.push_back(profile::begin(profile::Scope::User, args.is_none() ? name : name + '\0' + args.to_string()));
  return int64_t(ranges.size());
}
void range_leave(int64_t place) {
  for (; place > 0 && uint64_t(place) <= ranges.size(); ranges.pop_back()) profile::end(ranges.back());
}

}  // namespace

GradMode set_grad_mode(GradMode mode) noexcept { return std::exchange(grad_mode, mode); }
WarnTo set_warn(WarnTo f) noexcept { return std::exchange(warn_to, f); }

void register_modes() {
  prim([](const std::string& text, int64_t level) { warn_to(text, level); },
       "aten::warn(str message, int stacklevel=2) -> ()", true);
  prim([] { return grad_mode.get(); }, "aten::is_grad_enabled() -> bool");
  prim([](bool on) { grad_mode.set(on); }, "aten::set_grad_enabled(bool val) -> ()", true);
  prim([](const std::string& device) { return autocast::is_enabled(parse_device(device).type); },
       "aten::is_autocast_enabled(str device_type) -> bool");
  prim([](const std::string& device, bool on, const Cell& dtype,
          const Cell& cache) { return autocast_enter(device, on, dtype, cache); },
       "prim::autocast_enter(str device, bool enabled, int? dtype, bool? cache) -> int[]", true);
  prim([](const std::string& device, const Cell& before) { autocast_leave(device, before.items()); },
       "prim::autocast_leave(str device, int[] before) -> ()", true);
  prim([](const std::string& name, const Cell& args) { return range_enter(name, args); },
       "prim::range_enter(str name, str? args) -> int", true);
  prim([](int64_t place) { range_leave(place); }, "prim::range_leave(int place) -> ()", true);
  prim(
      [](int64_t seed) {
        default_generator().set_seed(uint64_t(seed));
        seed_all_devices(uint64_t(seed));
      },
      "aten::manual_seed(int seed) -> ()", true);
  prim([](const Cell& a, const Cell& b) { return a.to_enum().name == b.to_enum().name; },
       "prim::enum_eq(Any a, Any b) -> bool");
}

}  // namespace torch::program
