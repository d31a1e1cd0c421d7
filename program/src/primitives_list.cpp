// Lists and dictionaries.
#include <algorithm>

#include "primitives.h"
#include "torch/core/ops/binary.h"

namespace torch::program {

namespace {

using List = std::vector<Cell>&;

Cell like(const Cell& c, std::vector<Cell> items) { return Cell::list(std::move(items), c.to_list().type); }
Cell slice(const Cell& l, const Cell& start, const Cell& end, int64_t step) {
  std::vector<Cell> out;
  for_slice(start, end, step, l.items().size(), [&](size_t i) { out.push_back(l.items()[i]); });
  return like(l, std::move(out));
}
// What a comparison of tensors says: of one element, as where a program branches on it.
bool holds(const Tensor& t) {
  if (t.numel() != 1) raise_error("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous");
  return item(t).to_bool();
}
bool less(const Cell& a, const Cell& b) {
  using Tag = Cell::Tag;
  if (a.is(Tag::String)) return a.to_string() < b.to_string();
  if (a.is(Tag::List) || a.is(Tag::Tuple)) {
    Deeper deeper("comparison");
    return std::lexicographical_compare(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), less);
  }
  if (a.is(Tag::Float) || b.is(Tag::Float)) return a.to_double() < b.to_double();
  if (a.is(Tag::Tensor)) return holds(lt(a.to_tensor(), b.to_tensor()));
  return a.to_int() < b.to_int();
}
void sort(std::vector<Cell>& items, bool reverse) {
  std::vector<Cell> sorted = items;  // what compares may fail half-way
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Cell& a, const Cell& b) { return reverse ? less(b, a) : less(a, b); });
  items = std::move(sorted);
}
std::vector<Cell> range(int64_t from, int64_t to, int64_t step) {
  if (step == 0) raise_error("ValueError", "range() arg 3 must not be zero");
  std::vector<Cell> out;
  if (step > 0)
    for (int64_t i = from; i < to; i = to - i <= step ? to : i + step) out.emplace_back(i);
  else
    for (int64_t i = from; i > to; i = i - to <= -step ? to : i + step) out.emplace_back(i);
  return out;
}
int64_t range_length(int64_t from, int64_t to, int64_t step) {
  if (step == 0) raise_error("ValueError", "range() arg 3 must not be zero");
  if (step > 0) return from < to ? int64_t((uint64_t(to) - uint64_t(from) - 1) / uint64_t(step) + 1) : 0;
  return from > to ? int64_t((uint64_t(from) - uint64_t(to) - 1) / (0 - uint64_t(step)) + 1) : 0;
}
Cell extreme(const Cell& l, bool largest) {
  const auto& items = l.items();
  if (items.empty()) raise_error("ValueError", "min() or max() of an empty list");
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i)
    if (largest ? less(items[best], items[i]) : less(items[i], items[best])) best = i;
  return items[best];
}
size_t hash(const Cell& c) {
  if (c.is(Cell::Tag::Tuple))
    for (const Cell& each : c.items()) hash(each);  // which may have none
  if (c.is(Cell::Tag::List) || c.is(Cell::Tag::Dict))
    raise_error("TypeError", "unhashable: lists and dicts have no hash");
  if (c.is(Cell::Tag::Int) || c.is(Cell::Tag::Bool)) return size_t(c.to_int());
  return DictHeap::Hash()(c);
}
bool truth(const Cell& c) {
  if (c.is(Cell::Tag::Tensor)) raise_error("TypeError", "any() and all() take lists of numbers");
  return c.to_scalar().to_bool();
}

}  // namespace

void register_lists() {
  prim([](const Cell& c) { return int64_t(hash(c)); }, "aten::hash.generic(t value) -> int");
  prim([](const Cell& c) { return c.is(Cell::Tag::List); }, "prim::is_list(Any self) -> bool");
  prim([](const Cell& c) { return c.is(Cell::Tag::Tuple); }, "prim::is_tuple(Any self) -> bool");
  prim([](const Cell& c) { return c.is(Cell::Tag::Dict); }, "prim::is_dict(Any self) -> bool");
  prim([](List l) { return int64_t(l.size()); }, "aten::len.t(t[] a) -> int");
  prim([](List l, int64_t i) { return l[place(i, l.size(), "list")]; }, "aten::__getitem__.t(t[] list, int idx) -> t");
  prim(
      [](const Cell& c, int64_t i, const Cell& v) {
        List l = c.items();
        l[place(i, l.size(), "list assignment")] = v;
        return c;
      },
      "aten::_set_item.t(t[](a!) l, int idx, t el) -> t[](a!)");
  prim([](List l, int64_t i) { l.erase(l.begin() + ptrdiff_t(place(i, l.size(), "list assignment"))); },
       "aten::Delete.t(t[](a!) self, int idx) -> ()");
  prim([](const Cell& l, const Cell& v) { return l.items().push_back(v), l; },
       "aten::append.t(t[](a!) self, t el) -> t[](a!)");
  prim(
      [](List l, List other) {
        std::vector<Cell> more = other;
        l.insert(l.end(), more.begin(), more.end());
      },
      "aten::extend.t(t[](a!) self, t[] other) -> ()");
  prim(
      [](List l, int64_t i, const Cell& v) {
        int64_t n = int64_t(l.size());
        if (i < 0) i = std::max<int64_t>(i + n, 0);
        l.insert(l.begin() + std::min(i, n), v);
      },
      "aten::insert.t(t[](a!) self, int idx, t el) -> ()");
  prim(
      [](List l, int64_t i) {
        if (l.empty()) raise_error("IndexError", "pop from empty list");
        size_t at = place(i, l.size(), "pop");
        Cell c = l[at];
        l.erase(l.begin() + ptrdiff_t(at));
        return c;
      },
      "aten::pop.t(t[](a!) self, int idx=-1) -> t");
  prim([](List l) { l.clear(); }, "aten::clear.t(t[](a!) self) -> ()");
  prim([](List l) { std::reverse(l.begin(), l.end()); }, "aten::reverse.t(t[](a!) self) -> ()");
  prim([](const Cell& l) { return like(l, l.items()); }, "aten::copy.t(t[] self) -> t[]");
  prim([](const Cell& l) { return like(l, l.items()); }, "aten::list.t(t[] l) -> t[]");
  prim(
      [](List l, const Cell& v) {
        for (size_t i = 0; i < l.size(); ++i)
          if (alike(l[i], v)) return int64_t(i);
        raise_error("ValueError", "'" + v.repr() + "' is not in list");
      },
      "aten::index.t(t[] self, t el) -> int");
  prim(
      [](List l, const Cell& v) {
        for (size_t i = 0; i < l.size(); ++i)
          if (alike(l[i], v)) return void(l.erase(l.begin() + ptrdiff_t(i)));
        raise_error("ValueError", "list.remove(x): x not in list");
      },
      "aten::remove.t(t[](a!) self, t el) -> ()");
  prim(
      [](List l, const Cell& v) {
        return int64_t(std::count_if(l.begin(), l.end(), [&](const Cell& c) { return alike(c, v); }));
      },
      "aten::count.t(t[] self, t el) -> int");
  prim(
      [](List l, const Cell& v) { return std::any_of(l.begin(), l.end(), [&](const Cell& c) { return alike(c, v); }); },
      "aten::__contains__.t(t[] l, t item) -> bool");
  prim([](const Cell& l, const Cell& a, const Cell& b, int64_t s) { return slice(l, a, b, s); },
       "aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]");
  prim(
      [](const Cell& a, List b) {
        std::vector<Cell> out = a.items();
        out.insert(out.end(), b.begin(), b.end());
        return like(a, std::move(out));
      },
      "aten::add.t(t[] a, t[] b) -> t[]");
  prim(
      [](const Cell& a, List b) {
        std::vector<Cell> more = b;
        a.items().insert(a.items().end(), more.begin(), more.end());
        return a;
      },
      "aten::add_.t(t[](a!) self, t[] b) -> t[](a!)");
  constexpr auto times = [](const Cell& l, int64_t n) {
    std::vector<Cell> out;
    if (n > 0 && l.items().size() > size_t(1) << 32) raise_error("MemoryError", "the list is too long");
    if (n > 0 && !l.items().empty() && uint64_t(n) > (uint64_t(1) << 32) / l.items().size())
      raise_error("MemoryError", "the list is too long");
    for (int64_t i = 0; i < n; ++i) out.insert(out.end(), l.items().begin(), l.items().end());
    return like(l, std::move(out));
  };
  prim(times, "aten::mul.left_t(t[] l, int n) -> t[]");
  prim([](int64_t n, const Cell& l) { return decltype(times)()(l, n); }, "aten::mul.right_(int n, t[] l) -> t[]");
  prim([](const Cell& a, const Cell& b) { return alike(a, b); }, "aten::eq.list(t[] a, t[] b) -> bool");
  prim([](const Cell& a, const Cell& b) { return !alike(a, b); }, "aten::ne.list(t[] a, t[] b) -> bool");
  prim([](const Cell& a, const Cell& b) { return less(a, b); }, "aten::lt.list(t[] a, t[] b) -> bool");
  prim([](const Cell& a, const Cell& b) { return less(b, a); }, "aten::gt.list(t[] a, t[] b) -> bool");
  prim([](const Cell& a, const Cell& b) { return !less(b, a); }, "aten::le.list(t[] a, t[] b) -> bool");
  prim([](const Cell& a, const Cell& b) { return !less(a, b); }, "aten::ge.list(t[] a, t[] b) -> bool");
  prim([](List l, bool reverse) { sort(l, reverse); }, "aten::sort.t(t[](a!) self, bool reverse=False) -> ()");
  prim(
      [](const Cell& l) {
        std::vector<Cell> items = l.items();
        sort(items, false);
        return like(l, std::move(items));
      },
      "aten::sorted.t(t[] input) -> t[]");
  prim([](int64_t n) { return Cell::list(range(0, n, 1), int_type()); }, "aten::range.n(int n) -> int[]");
  prim([](int64_t a, int64_t b, int64_t s) { return Cell::list(range(a, b, s), int_type()); },
       "prim::rangelist(int start, int end, int step=1) -> int[]");
  prim([](int64_t a, int64_t b, int64_t s) { return range_length(a, b, s); },
       "aten::__range_length(int lo, int hi, int step) -> int");
  prim([](int64_t i, int64_t a, int64_t s) { return int64_t(uint64_t(a) + uint64_t(i) * uint64_t(s)); },
       "aten::__derive_index(int index, int start, int step) -> int");
  for (const char* t : {"int", "float", "bool", "str"}) {
    std::string l = std::string(t) + "[] l";
    prim([](const Cell& c) { return extreme(c, false); }, ("prim::min.self(" + l + ") -> " + t).c_str());
    prim([](const Cell& c) { return extreme(c, true); }, ("prim::max.self(" + l + ") -> " + t).c_str());
    const std::string two = "(" + l + ", " + t + "[] r) -> " + t + "[]";
    prim([](const Cell& a, const Cell& b) { return less(b, a) ? b : a; }, ("prim::min.list" + two).c_str());
    prim([](const Cell& a, const Cell& b) { return less(a, b) ? b : a; }, ("prim::max.list" + two).c_str());
  }
  prim(
      [](List l) {
        int64_t s = 0;
        for (const Cell& c : l) s = int64_t(uint64_t(s) + uint64_t(c.to_int()));
        return s;
      },
      "aten::sum.int(int[] self) -> int");
  prim([](List l) { return int64_t(std::count_if(l.begin(), l.end(), [](const Cell& c) { return c.to_bool(); })); },
       "aten::sum.bool(bool[] self) -> int");
  prim(
      [](List l) {
        double s = 0;
        for (const Cell& c : l) s += c.to_double();
        return s;
      },
      "aten::sum.float(float[] self) -> float");
  for (const char* t : {"int", "float", "bool"}) {
    std::string l = std::string(t) + "[] self) -> bool";
    prim([](List c) { return std::any_of(c.begin(), c.end(), truth); }, ("aten::any.l(" + l).c_str());
    prim([](List c) { return std::all_of(c.begin(), c.end(), truth); }, ("aten::all.l(" + l).c_str());
  }
  prim([](List l) { return !l.empty(); }, "aten::Bool.list(t[] a) -> bool");
  prim([](const Cell& a, const Cell& b) { return a.same(b); }, "aten::__is__(t1 self, t2 obj) -> bool");
  prim([](const Cell& a, const Cell& b) { return !a.same(b); }, "aten::__isnot__(t1 self, t2 obj) -> bool");
  prim(
      [](const Cell& a) {
        if (a.is_none()) raise_error("AssertionError", "Unwrapping null optional");
        return a;
      },
      "aten::_unwrap_optional(t? optional) -> t");
}

namespace {

using Dict = DictHeap&;

[[noreturn]] void no_key(const Cell& key) { raise_error("KeyError", key.repr()); }
Cell all(const Cell& d, bool keys) {
  std::vector<Cell> out;
  for (const auto& e : d.to_dict().entries)
    if (e.alive) out.push_back(keys ? e.key : e.value);
  return Cell::list(std::move(out), keys ? d.to_dict().key_type : d.to_dict().value_type);
}

}  // namespace

bool alike(const Cell& a, const Cell& b) {
  using Tag = Cell::Tag;
  if (a.is(Tag::Tensor) && b.is(Tag::Tensor)) return a.same(b) || holds(eq(a.to_tensor(), b.to_tensor()));
  if (a.is(Tag::Tensor) || a.tag() != b.tag()) return equal(a, b);
  if (a.is(Tag::List) || a.is(Tag::Tuple)) {
    Deeper deeper("comparison");
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), alike);
  }
  if (!a.is(Tag::Dict)) return equal(a, b);
  const DictHeap &x = a.to_dict(), &y = b.to_dict();
  Deeper deeper("comparison");
  return x.size() == y.size() && std::all_of(x.entries.begin(), x.entries.end(), [&](const auto& e) {
           const Cell* other = e.alive ? y.find(e.key) : nullptr;
           return !e.alive || (other && alike(e.value, *other));
         });
}

void register_dicts() {
  // A key type of its own for each kind, so that a tensor is none by accident.
  for (const char* k : {"str", "int", "float", "bool", "complex", "Tensor", "tKey"}) {
    const std::string key(k), d = "Dict(" + key + ", t)", own = "." + key;
    auto text = [&](const std::string& s) {
      std::string out;
      for (size_t i = 0; i < s.size(); ++i) {
        if (s[i] == 'D' && s.compare(i, 2, "DK") == 0)
          out += d, ++i;
        else if (s[i] == 'K')
          out += key;
        else
          out += s[i];
      }
      return out;
    };
    prim([](Dict c) { return int64_t(c.size()); }, text("aten::len.Dict_K(DK self) -> int").c_str());
    prim(
        [](Dict c, const Cell& i) {
          const Cell* v = c.find(i);
          if (!v) no_key(i);
          return *v;
        },
        text("aten::__getitem__.Dict_K(DK self, K key) -> t").c_str());
    prim([](Dict c, const Cell& i, const Cell& v) { c.set(i, v); },
         text("aten::_set_item.K(DK(a!) l, K idx, t v) -> ()").c_str());
    prim([](Dict c, const Cell& i) { return c.find(i) != nullptr; },
         text("aten::__contains__.K(DK dict, K key) -> bool").c_str());
    prim(
        [](Dict c, const Cell& i) {
          const Cell* v = c.find(i);
          return v ? *v : Cell();
        },
        text("aten::get.K(DK self, K key) -> t?").c_str());
    prim(
        [](Dict c, const Cell& i, const Cell& other) {
          const Cell* v = c.find(i);
          return v ? *v : other;
        },
        text("aten::get.default_K(DK self, K key, t default_value) -> t").c_str());
    prim(
        [](Dict c, const Cell& i) {
          if (!c.erase(i)) no_key(i);
        },
        text("aten::Delete.Dict_K(DK(a!) self, K key) -> ()").c_str());
    prim(
        [](Dict c, const Cell& i) {
          const Cell* v = c.find(i);
          if (!v) no_key(i);
          Cell out = *v;
          c.erase(i);
          return out;
        },
        text("aten::pop.Dict_K(DK(a!) self, K key) -> t").c_str());
    prim(
        [](Dict c, const Cell& i, const Cell& other) {
          const Cell* v = c.find(i);
          Cell out = v ? *v : other;
          c.erase(i);
          return out;
        },
        text("aten::pop.Dict_default_K(DK(a!) self, K key, t default_value) -> t").c_str());
    prim(
        [](Dict c, const Cell& i, const Cell& v) {
          const Cell* found = c.find(i);
          if (found) return *found;
          c.set(i, v);
          return v;
        },
        text("aten::setdefault.K(DK(a!) self, K key, t default_value) -> t").c_str());
    prim([](const Cell& c) { return all(c, true); }, text("aten::keys.K(DK self) -> K[]").c_str());
    prim([](const Cell& c) { return all(c, false); }, text("aten::values.K(DK self) -> t[]").c_str());
    prim(
        [](const Cell& c) {
          std::vector<Cell> out;
          for (const auto& e : c.to_dict().entries)
            if (e.alive) out.push_back(Cell::tuple({e.key, e.value}));
          return Cell::list(std::move(out), tuple_type({c.to_dict().key_type, c.to_dict().value_type}));
        },
        text("aten::items.K(DK self) -> (K, t)[]").c_str());
    prim([](Dict c) { c.entries.clear(), c.index.clear(); }, text("aten::clear.Dict_K(DK(a!) self) -> ()").c_str());
    prim(
        [](Dict c, const Cell& other) {
          const std::vector<DictHeap::Entry> entries = other.to_dict().entries;
          for (const auto& e : entries)
            if (e.alive) c.set(e.key, e.value);
        },
        text("aten::update.K(DK(a!) self, DK to_add) -> ()").c_str());
    prim(
        [](Dict c) {
          for (size_t i = c.entries.size(); i--;)
            if (c.entries[i].alive) {
              Cell out = Cell::tuple({c.entries[i].key, c.entries[i].value});
              c.erase(out.items()[0]);
              return out;
            }
          raise_error("KeyError", "popitem(): dictionary is empty");
        },
        text("aten::popitem.K(DK(a!) self) -> ((K, t))").c_str());
    prim(
        [](const Cell& c) {
          Cell out = Cell::dict(c.to_dict().key_type, c.to_dict().value_type);
          for (const auto& e : c.to_dict().entries)
            if (e.alive) out.to_dict().set(e.key, e.value);
          return out;
        },
        text("aten::copy.Dict_K(DK self) -> DK").c_str());
    prim([](const Cell& a, const Cell& b) { return equal(a, b); }, text("aten::eq.Dict_K(DK a, DK b) -> bool").c_str());
    prim([](const Cell& a, const Cell& b) { return !equal(a, b); },
         text("aten::ne.Dict_K(DK a, DK b) -> bool").c_str());
    prim([](Dict c) { return c.size() != 0; }, text("aten::Bool.Dict_K(DK a) -> bool").c_str());
    prim(
        [](List l) {
          Cell out = Cell::dict(string_type(), any_type());
          for (const Cell& pair : l) {
            if (pair.items().size() != 2) raise_error("ValueError", "a dictionary is made from pairs");
            out.to_dict().key_type = pair.items()[0].type();
            out.to_dict().value_type = pair.items()[1].type();
            out.to_dict().set(pair.items()[0], pair.items()[1]);
          }
          return out;
        },
        text("aten::dict.K((K, t)[] inputs) -> DK").c_str());
  }
}

}  // namespace torch::program
