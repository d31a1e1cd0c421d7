// From the records of threads to the events of one session: nesting, time and memory of their own, links from backward
// to forward.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <unordered_map>

#include "profile/profile.h"

namespace torch::profile {

namespace {

std::string backward_name(const Schema& op) {
  std::string s;
  bool upper = true;
  for (char c : op.op_name()) {
    if (c != '_') s += upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return s + "Backward0";
}

constexpr uint64_t bits(uint64_t head, int from, int count) noexcept {
  return head >> from & ((uint64_t{1} << count) - 1);
}

// A record as it lies in a chunk, and where it belongs in time.
struct Mark {
  const uint64_t* words;
  uint32_t serial;  // of a begin
  uint64_t tick() const noexcept { return words[1]; }
  Record kind() const noexcept { return Record(bits(words[0], 0, 4)); }
};
using Marks = std::vector<Mark>;
constexpr uint32_t kForeign = ~0u;  // as the serial of an end: another thread noted it

// The records of one thread between two moments.
Marks marks_of(const Buffer& b, uint64_t from, uint64_t to) {
  Marks marks;
  for (Chunk* c = b.first; c; c = c->next.load(std::memory_order_acquire)) {
    const uint32_t used = c->used.load(std::memory_order_acquire);
    uint32_t serial = c->first_serial;
    for (uint32_t at = 0; at < used;) {
      const uint64_t* w = c->words() + at;
      const Mark mark{w, serial};
      switch (mark.kind()) {
        case Record::End:
          at += 3;
          break;
        case Record::Memory:
          at += 4;
          break;
        default:
          at += 4 + uint32_t(bits(w[0], kArgumentsBit, 16) + bits(w[0], kStackBit, 8) + bits(w[0], kTextBit, 16));
          ++serial;
      }
      if (mark.tick() >= from && mark.tick() <= to) marks.push_back(mark);
    }
  }
  return marks;
}

class Reader {
 public:
  Reader(uint64_t from, const Clock& clock, Recording& into) : from_(from), clock_(clock), r_(into) {}

  // Goes through one thread's records in order; time passes for the innermost range that is open.
  void thread(const Marks& marks, uint32_t number) {
    first_ = r_.events.size();
    std::vector<int64_t> open;
    std::unordered_map<uint32_t, int64_t> by_serial;  // of those that are open
    std::unordered_map<int64_t, int64_t> makers;      // sequence: the event that made the node, innermost
    int64_t last = 0;
    auto pass = [&](int64_t now) {
      if (!open.empty()) r_.events[size_t(open.back())].self += now - last;
      last = now;
    };
    for (const Mark& m : marks) {
      const int64_t now = time(m.tick());
      pass(now);
      const int64_t around = open.empty() ? -1 : open.back();
      if (m.kind() == Record::Memory) {
        const auto bytes = int64_t(m.words[2]);
        r_.memory.push_back({now, bytes, m.words[3], number, around});
        if (around >= 0) r_.events[size_t(around)].self_bytes += bytes;
      } else if (m.kind() != Record::End) {
        const auto index = int64_t(r_.events.size());
        r_.events.push_back(begun(m, number, now, around));
        open.push_back(index);
        by_serial[m.serial] = index;
      } else {
        auto at = by_serial.find(uint32_t(m.words[0] >> kSerialBit));
        if (at == by_serial.end()) continue;  // it began before the session
        close(at->second, now, m, open);
        const Event& e = r_.events[size_t(at->second)];
        if (e.scope == Scope::Function && e.sequence >= 0) makers.try_emplace(e.sequence, at->second);
        by_serial.erase(at);
      }
    }
    const int64_t end = r_.duration;
    pass(end);
    for (int64_t i : open) r_.events[size_t(i)].end = end, r_.events[size_t(i)].is_open = true;
    for (size_t i = r_.events.size(); i-- > first_;) {  // children come after parents
      Event& e = r_.events[i];
      e.bytes += e.self_bytes;
      if (e.parent >= 0) r_.events[size_t(e.parent)].bytes += e.bytes;
      if (e.scope == Scope::Function && e.is_open) e.sequence = kNoSequence;
    }
    makers_.push_back(std::move(makers));
  }

  // A node is run by the thread that recorded it, or by another one; only then its number may be ambiguous.
  void link() {
    for (Event& e : r_.events) {
      if (e.scope != Scope::Backward || e.sequence < 0) continue;
      int found = 0;
      for (size_t t = 0; t < makers_.size(); ++t) {
        auto at = makers_[t].find(e.sequence);
        if (at == makers_[t].end() || r_.events[size_t(at->second)].start > e.start) continue;
        if (r_.events[size_t(at->second)].thread == e.thread) {
          e.forward = at->second;
          found = 1;
          break;
        }
        e.forward = ++found == 1 ? at->second : -1;
      }
    }
  }

 private:
  int64_t time(uint64_t tick) const noexcept { return int64_t(double(tick - from_) * clock_.rate); }

  uint32_t name(std::string text) {
    auto [at, fresh] = names_.try_emplace(std::move(text), uint32_t(r_.names.size()));
    if (fresh) r_.names.push_back(at->first);
    return at->second;
  }
  uint32_t name(Record kind, const Schema* op) {
    auto [at, fresh] = schemas_[kind == Record::Backward].try_emplace(op, 0);
    if (fresh) at->second = name(kind == Record::Backward ? backward_name(*op) : "aten::" + std::string(op->op_name()));
    return at->second;
  }

  Event begun(const Mark& m, uint32_t thread, int64_t now, int64_t parent) {
    const uint64_t* w = m.words;
    Event e{};
    e.thread = thread;
    e.scope = Scope(bits(w[0], kScopeBit, 4));
    e.start = e.end = now;
    e.parent = parent;
    e.sequence = int64_t(w[3]);
    e.forward = -1;
    e.handle = handle_of(m.serial, thread);
    const auto text = uint32_t(bits(w[0], kTextBit, 16));
    e.argument_words = uint32_t(bits(w[0], kArgumentsBit, 16));
    e.stack_words = uint32_t(bits(w[0], kStackBit, 8));
    e.name = m.kind() == Record::Named ? name(std::string(reinterpret_cast<const char*>(w + 4), w[2]))
                                       : name(m.kind(), reinterpret_cast<const Schema*>(w[2]));
    e.arguments = uint32_t(r_.words.size());
    e.stack = e.arguments + e.argument_words;
    r_.words.insert(r_.words.end(), w + 4 + text, w + 4 + text + e.argument_words + e.stack_words);
    return e;
  }

  void close(int64_t index, int64_t now, const Mark& m, std::vector<int64_t>& open) {
    Event& e = r_.events[size_t(index)];
    e.end = now;
    e.is_async = m.serial == kForeign;
    // A forward operator made a node when the thread's count went on meanwhile.
    if (e.scope == Scope::Function && (m.words[2] == ~uint64_t{0} || int64_t(m.words[2]) <= e.sequence))
      e.sequence = kNoSequence;
    auto at = std::find(open.rbegin(), open.rend(), index);
    // What began inside and goes on longer (generators that take turns) was not a part of it.
    for (auto later = open.rbegin(); later != at; ++later)
      if (Event& l = r_.events[size_t(*later)]; l.parent == index) l.parent = e.parent;
    open.erase(std::next(at).base());
  }

  const uint64_t from_;
  const Clock clock_;
  Recording& r_;
  size_t first_ = 0;
  std::unordered_map<std::string, uint32_t> names_;
  std::unordered_map<const Schema*, uint32_t> schemas_[2];
  std::vector<std::unordered_map<int64_t, int64_t>> makers_;
};

}  // namespace

void read(const std::vector<Buffer*>& buffers, uint64_t from, uint64_t to, const Clock& clock, Recording& into) {
  std::vector<Marks> all;
  std::unordered_map<uint32_t, size_t> by_number;
  for (const Buffer* b : buffers) {
    by_number[b->number] = all.size();
    all.push_back(marks_of(*b, from, to));
  }
  // An end noted by another thread goes to the thread of its begin.
  std::vector<bool> disordered(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    std::erase_if(all[i], [&](const Mark& m) {
      if (m.kind() != Record::End) return false;
      const auto number = uint32_t(bits(m.words[0], kThreadBit, 28));
      if (number == buffers[i]->number) return false;
      if (auto at = by_number.find(number); at != by_number.end()) {
        all[at->second].push_back({m.words, kForeign});
        disordered[at->second] = true;
      }
      return true;
    });
  }
  Reader reader(from, clock, into);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    if (disordered[i])
      std::stable_sort(all[i].begin(), all[i].end(), [](const Mark& a, const Mark& b) { return a.tick() < b.tick(); });
    reader.thread(all[i], buffers[i]->number);
    into.threads.push_back({buffers[i]->number, buffers[i]->system_id, buffers[i]->name});
  }
  reader.link();
}

}  // namespace torch::profile
