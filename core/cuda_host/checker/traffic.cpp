#include "traffic.h"

#include <set>

#include "shadow.h"

namespace cuda_host {

void Requests::touch(const std::string& kernel, uint32_t warp, uint32_t lane, const void* p, size_t bytes, bool store,
                     bool shared, const void* line) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const uint32_t source = source_of(line);
  Last& last = last_[{warp, lane}];
  if (last.place && last.end == at && last.source == source && last.store == store && last.shared == shared &&
      last.line != line) {
    Access& access = last.place->requests[last.time][last.index];
    if (access.at / 16 == (at + bytes - 1) / 16) {
      access.bytes += uint32_t(bytes);
      last.end += bytes;
      last.line = line;
      return;
    }
  }
  Place& place = open_[{Line{kernel, line, store, shared}, warp}];
  const uint32_t time = place.times[lane]++;
  if (time >= place.requests.size()) place.requests.resize(time + 1);
  place.requests[time].push_back({at, lane, uint32_t(bytes)});
  last = {&place, time, uint32_t(place.requests[time].size() - 1), source, at + bytes, line, store, shared};
}

uint32_t Requests::source_of(const void* line) {
  const auto [found, is_new] = source_of_.try_emplace(line, 0);
  if (is_new) found->second = sources_.try_emplace(line_of(line), uint32_t(sources_.size())).first->second;
  return found->second;
}

void Requests::count(const std::vector<Access>& request, bool shared, Sum& sum) {
  ++sum.requests;
  if (!shared) {
    std::set<uintptr_t> sectors, bytes;
    for (const Access& a : request)
      for (uintptr_t b = a.at; b < a.at + a.bytes; ++b) sectors.insert(b / 32), bytes.insert(b);
    sum.parts += int64_t(sectors.size());
    sum.least += int64_t((bytes.size() + 31) / 32);
    return;
  }
  // 32 banks of four bytes: a pass gives each one word to whoever wants it; lanes with 8 or 16 bytes go in halves,
  // quarters.
  std::map<uint32_t, std::map<uint32_t, std::set<uintptr_t>>> words;  // of each group of lanes and bank
  for (const Access& a : request)
    for (uintptr_t w = a.at / 4; w <= (a.at + a.bytes - 1) / 4; ++w)
      words[a.lane / (32 / std::max<uint32_t>(1, a.bytes / 4))][uint32_t(w % 32)].insert(w);
  for (const auto& [group, banks] : words) {
    size_t passes = 0;
    for (const auto& [bank, wanted] : banks) passes = std::max(passes, wanted.size());
    sum.parts += int64_t(passes);
    sum.least += 1;
  }
}

void Requests::end_block() {
  for (const auto& [key, place] : open_)
    for (const auto& request : place.requests) count(request, key.first.shared, kernels_[key.first]);
  open_.clear();
  last_.clear();
}

std::vector<Traffic> Requests::all() const {
  std::vector<Traffic> found;
  for (const auto& [line, sum] : kernels_)
    found.push_back({line.kernel, line_of(line.line), line.store, line.shared, sum.requests, sum.parts, sum.least});
  return found;
}

}  // namespace cuda_host
