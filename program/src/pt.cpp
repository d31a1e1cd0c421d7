// Files of torch.save: a zip with a pickle, data.pkl, and the memory of each storage, data/0, data/1, ... Of pickle's
// machine there is what torch.save writes: values of Python, and calls of the few functions that rebuild tensors.
#include "torch/program/pt.h"

#include <cstring>
#include <memory>
#include <unordered_map>

#include "torch/core/tensor.h"
#include "zip.h"

namespace torch::program {

namespace {

struct Item {
  enum Kind { Value, Mark, Global, Storage, Tuple, List, Dict } kind = Value;  // a dictionary has keys between values
  Cell value;
  std::string name;  // of a global: "torch._utils._rebuild_tensor_v2"
  Tensor storage;
  std::shared_ptr<std::vector<Item>> items;
};
using Items = std::vector<Item>;

constexpr struct {
  const char* storage;
  DType dtype;
} kStorages[] = {{"torch.FloatStorage", DType::Float32},
                 {"torch.DoubleStorage", DType::Float64},
                 {"torch.HalfStorage", DType::Float16},
                 {"torch.BFloat16Storage", DType::BFloat16},
                 {"torch.LongStorage", DType::Int64},
                 {"torch.IntStorage", DType::Int32},
                 {"torch.ShortStorage", DType::Int16},
                 {"torch.CharStorage", DType::Int8},
                 {"torch.ByteStorage", DType::UInt8},
                 {"torch.BoolStorage", DType::Bool},
                 {"torch.ComplexFloatStorage", DType::Complex64},
                 {"torch.ComplexDoubleStorage", DType::Complex128}};

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const ZipReader& zip, std::string folder)
      : bytes_(bytes), zip_(zip), folder_(std::move(folder)) {}
  Unpickler(const Unpickler&) = delete;
  Unpickler& operator=(const Unpickler&) = delete;
  // One container after the other: what a file nests deeply, or in a circle, is not left to their destructors.
  ~Unpickler() {
    for (const auto& each : containers_) each->clear();
  }

  Item run() {
    for (;;) {
      const unsigned char op = byte();
      if (op == '.') break;
      step(op);
    }
    Item found = pop();
    if (!stack_.empty()) damaged();
    return found;
  }

 private:
  [[noreturn]] void damaged() const { zip_.fail("its data.pkl is damaged"); }
  [[noreturn]] void refuse(const std::string& what) const {
    throw_error(ErrorKind::Value, what +
                                      " is not read here: torch.save tensors, numbers, texts, and lists, tuples and "
                                      "dictionaries of them");
  }

  // --- the bytes ---

  std::string_view take(uint64_t n) {
    if (n > bytes_.size() - at_) damaged();
    const std::string_view part = bytes_.substr(at_, size_t(n));
    at_ += size_t(n);
    return part;
  }
  unsigned char byte() { return static_cast<unsigned char>(take(1)[0]); }
  uint64_t number(int width) {  // little-endian
    uint64_t v = 0;
    const std::string_view part = take(uint64_t(width));
    for (int i = width; i-- > 0;) v = v << 8 | static_cast<unsigned char>(part[size_t(i)]);
    return v;
  }
  std::string line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) damaged();
    const std::string text(bytes_.substr(at_, end - at_));
    at_ = end + 1;
    return text;
  }

  // --- the stack ---

  void push(Cell c) { stack_.push_back({Item::Value, std::move(c), "", {}, nullptr}); }
  void push(Item::Kind kind, Items items) {
    containers_.push_back(std::make_shared<Items>(std::move(items)));
    stack_.push_back({kind, {}, "", {}, containers_.back()});
  }
  Item pop() {
    if (stack_.empty() || stack_.back().kind == Item::Mark) damaged();
    Item top = std::move(stack_.back());
    stack_.pop_back();
    return top;
  }
  Item& top(Item::Kind kind) {
    if (stack_.empty() || stack_.back().kind != kind) damaged();
    return stack_.back();
  }
  Items since_mark() {
    size_t from = stack_.size();
    while (from && stack_[from - 1].kind != Item::Mark) --from;
    if (!from) damaged();
    Items found(std::make_move_iterator(stack_.begin() + ptrdiff_t(from)), std::make_move_iterator(stack_.end()));
    stack_.resize(from - 1);
    return found;
  }
  Items last(size_t n) {
    Items found(n);
    for (size_t i = n; i-- > 0;) found[i] = pop();
    return found;
  }
  void remember(uint64_t place) {
    if (stack_.empty()) damaged();
    memo_[place] = stack_.back();
  }
  void recall(uint64_t place) {
    const auto at = memo_.find(place);
    if (at == memo_.end()) damaged();
    stack_.push_back(at->second);
  }
  void append(Item::Kind kind, Items more) {
    Items& all = *top(kind).items;
    if (kind == Item::Dict && more.size() % 2) damaged();
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  void step(unsigned char op) {
    switch (op) {
      case 0x80:  // PROTO
        byte();
        return;
      case 0x95:  // FRAME
        number(8);
        return;
      case '(':
        stack_.push_back({Item::Mark, {}, "", {}, nullptr});
        return;
      case 'N':
        return push(Cell());
      case 0x88:
        return push(Cell(true));
      case 0x89:
        return push(Cell(false));
      case 'K':
        return push(Cell(int64_t(byte())));
      case 'M':
        return push(Cell(int64_t(number(2))));
      case 'J':
        return push(Cell(int64_t(int32_t(uint32_t(number(4))))));
      case 0x8a: {  // LONG1: two's complement
        const int width = byte();
        if (width > 8) refuse("an int of more than 64 bits");
        const uint64_t v = number(width);
        const int unused = 64 - 8 * width;
        return push(Cell(width ? int64_t(v << unused) >> unused : int64_t(0)));
      }
      case 'G': {  // big-endian
        uint64_t v = 0;
        for (const char c : take(8)) v = v << 8 | static_cast<unsigned char>(c);
        double d;
        std::memcpy(&d, &v, 8);
        return push(Cell(d));
      }
      case 'X':
        return push(Cell(std::string(take(number(4)))));
      case 0x8c:
        return push(Cell(std::string(take(number(1)))));
      case ')':
        return push(Item::Tuple, {});
      case ']':
        return push(Item::List, {});
      case '}':
        return push(Item::Dict, {});
      case 't':
        return push(Item::Tuple, since_mark());
      case 0x85:
      case 0x86:
      case 0x87:
        return push(Item::Tuple, last(size_t(op - 0x84)));
      case 'a':
        return append(Item::List, last(1));
      case 'e':
        return append(Item::List, since_mark());
      case 's':
        return append(Item::Dict, last(2));
      case 'u':
        return append(Item::Dict, since_mark());
      case 'q':
        return remember(number(1));
      case 'r':
        return remember(number(4));
      case 0x94:
        return remember(memo_.size());
      case 'h':
        return recall(number(1));
      case 'j':
        return recall(number(4));
      case 'c': {
        const std::string module = line();
        stack_.push_back({Item::Global, {}, module + "." + line(), {}, nullptr});
        return;
      }
      case 0x93: {
        const Items words = last(2);
        if (!words[0].value.is(Cell::Tag::String) || !words[1].value.is(Cell::Tag::String)) damaged();
        stack_.push_back(
            {Item::Global, {}, words[0].value.to_string() + "." + words[1].value.to_string(), {}, nullptr});
        return;
      }
      case 'Q':
        return storage(pop());
      case 'R': {
        const Item arguments = pop(), called = pop();
        if (called.kind != Item::Global || arguments.kind != Item::Tuple) damaged();
        return call(called.name, *arguments.items);
      }
      case 0x81: {  // NEWOBJ
        pop();
        const Item cls = pop();
        refuse(cls.kind == Item::Global ? cls.name : std::string("an object"));
      }
      case 'b':  // BUILD: what a tensor or dictionary has besides
        pop();
        return;
      default:
        refuse(message("what pickle's code ", int(op), " makes"));
    }
  }

  // --- tensors ---

  static int64_t whole(const Item& item) { return item.value.to_int(); }
  static std::vector<int64_t> wholes(const Item& item) {
    std::vector<int64_t> found;
    if (item.items)
      for (const Item& each : *item.items) found.push_back(whole(each));
    return found;
  }

  // ('storage', type, key, location, numel)
  void storage(const Item& id) {
    if (id.kind != Item::Tuple || id.items->size() < 5) damaged();
    const Items& parts = *id.items;
    const std::string key = parts[2].value.to_string();
    Tensor& held = storages_[key];
    if (!held) {
      const std::string member = folder_ + "data/" + key;
      const ZipReader::Member* at = zip_.find(member);
      if (!at) zip_.fail("member '" + member + "' is missing");
      zip_.check_sum(member, *at);
      const std::string_view bytes = zip_.bytes(*at);
      held = empty_tensor({int64_t(bytes.size())}, DType::UInt8);
      if (!bytes.empty()) std::memcpy(held.data(), bytes.data(), bytes.size());
    }
    stack_.push_back({Item::Storage, {}, parts[1].name, held, nullptr});
  }

  Tensor rebuilt(const Item& storage, const Item& offset, const Item& sizes, const Item& strides, DType dtype) {
    if (storage.kind != Item::Storage) damaged();
    const std::vector<int64_t> shape = wholes(sizes), steps = wholes(strides);
    const int64_t width = int64_t(torch::item_size(dtype)), count = storage.storage.numel() / width;
    int64_t last = whole(offset);
    bool is_empty = false, fits = shape.size() == steps.size() && shape.size() <= size_t(kMaxDims) && last >= 0;
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      int64_t reach = 0;
      is_empty = is_empty || shape[d] == 0;
      fits = shape[d] >= 0 && steps[d] >= 0 &&
             (shape[d] < 2 ||
              (!__builtin_mul_overflow(shape[d] - 1, steps[d], &reach) && !__builtin_add_overflow(last, reach, &last)));
    }
    if (!fits || (!is_empty && last >= count)) zip_.fail("a tensor reaches beyond its memory");
    if (is_empty) return empty_tensor(shape, dtype);
    auto [at, fresh] = typed_.try_emplace({storage.storage.get(), dtype});
    if (fresh) at->second = typed(storage.storage, count, dtype);
    return view_of(at->second, shape, steps, whole(offset));
  }

  // The elements of a dtype that a storage of bytes holds.
  static Tensor typed(const Tensor& bytes, int64_t count, DType dtype) {
    Tensor made = empty_tensor({count}, dtype);
    std::memcpy(made.data(), bytes.data(), size_t(count) * size_t(torch::item_size(dtype)));
    if (dtype == DType::Bool)
      for (int64_t i = 0; i < count; ++i) made.data<uint8_t>()[i] = made.data<uint8_t>()[i] != 0;
    return made;
  }

  DType dtype_of(const std::string& name) const {
    for (const auto& each : kStorages)
      if (name == each.storage) return each.dtype;
    for (int i = 0; i < kDTypes; ++i)
      if (name == std::string("torch.") + torch::name(DType(i))) return DType(i);
    refuse(name);
  }

  void call(const std::string& name, const Items& given) {
    auto needs = [&](size_t n) {
      if (given.size() < n) damaged();
    };
    if (name == "collections.OrderedDict") return push(Item::Dict, {});
    if (name == "torch.Size") return needs(1), stack_.push_back(given[0]);
    if (name == "torch._utils._rebuild_parameter") return needs(1), stack_.push_back(given[0]);
    const bool is_typed = name == "torch._utils._rebuild_tensor_v3";
    if (!is_typed && name != "torch._utils._rebuild_tensor_v2" && name != "torch._utils._rebuild_tensor") refuse(name);
    needs(is_typed ? 7 : 4);
    const size_t more = is_typed ? 7 : 6;  // {"conj": True}, {"neg": True}
    if (given.size() > more && given[more].items && !given[more].items->empty())
      refuse(
          "a tensor that is conjugated or negated when it is read (save what resolve_conj() or resolve_neg() gives)");
    push(Cell(rebuilt(given[0], given[1], given[2], given[3], dtype_of(is_typed ? given[6].name : given[0].name))));
  }

  std::string_view bytes_;
  const ZipReader& zip_;
  std::string folder_;
  size_t at_ = 0;
  Items stack_;
  std::vector<std::shared_ptr<Items>> containers_;
  std::unordered_map<uint64_t, Item> memo_;
  std::map<std::string, Tensor> storages_;                       // as bytes
  std::map<std::pair<const TensorImpl*, DType>, Tensor> typed_;  // tensors over one memory keep sharing it
};

TypePtr common(const std::vector<Cell>& items) {
  if (items.empty()) return tensor_type();
  const TypePtr first = unshaped(items[0].type());
  for (const Cell& c : items)
    if (!equal(*unshaped(c.type()), *first)) return any_type();
  return first;
}

using Known = std::unordered_map<const Items*, Cell>;  // what stands in several places is one object

Cell cell_of(const Item& item, Known& known);

Cell made_of(const Item& item, Known& known) {
  std::vector<Cell> cells;
  for (const Item& each : *item.items) cells.push_back(cell_of(each, known));
  if (item.kind == Item::Tuple) return Cell::tuple(std::move(cells));
  if (item.kind == Item::List) {
    const TypePtr element = common(cells);
    return Cell::list(std::move(cells), element);
  }
  std::vector<Cell> keys, values;
  for (size_t i = 0; i + 1 < cells.size(); i += 2) keys.push_back(cells[i]), values.push_back(cells[i + 1]);
  const Cell made = Cell::dict(keys.empty() ? string_type() : common(keys), common(values));
  for (size_t i = 0; i < keys.size(); ++i) made.to_dict().set(keys[i], values[i]);
  return made;
}

Cell cell_of(const Item& item, Known& known) {
  Deeper deeper("the value of a file");
  if (item.kind == Item::Value) return item.value;
  if (!item.items)
    throw_error(ErrorKind::Value, (item.name.empty() ? "a storage" : item.name) + " is no value of a program");
  if (const auto at = known.find(item.items.get()); at != known.end()) return at->second;
  return known[item.items.get()] = made_of(item, known);
}

}  // namespace

Cell from_pt(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with("PK"))
    throw_error(
        ErrorKind::Value,
        name + ": not a file of torch.save since PyTorch 1.6 (a zip): load it with torch.load and save it again");
  const ZipReader zip(bytes.data(), bytes.size(), name);
  std::string folder;
  const ZipReader::Member* pickle = nullptr;
  for (const auto& [path, member] : zip.members()) {
    const size_t slash = path.rfind('/');
    if (slash == path.npos || path.substr(slash + 1) != "data.pkl") continue;
    folder = path.substr(0, slash + 1), pickle = &member;
  }
  if (!pickle) zip.fail("not a file of torch.save: it has no data.pkl");
  zip.check_sum(folder + "data.pkl", *pickle);
  if (const ZipReader::Member* order = zip.find(folder + "byteorder"); order && zip.bytes(*order) == "big")
    zip.fail("its numbers are big-endian");
  if (zip.find(folder + "constants.pkl")) zip.fail("a program of torch.jit.save, which is no input");
  try {
    Known known;
    return cell_of(Unpickler(zip.bytes(*pickle), zip, folder).run(), known);
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with(name)) throw;
    throw Error(e.kind(), name + ": " + e.what());
  }
}

}  // namespace torch::program
