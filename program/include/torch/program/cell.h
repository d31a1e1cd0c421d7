// One value of a running program: a tag and a word. Tensors, texts and containers are counted; containers are shared,
// as Python shares them.
#pragma once
#include <complex>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch/core/tensor.h"
#include "torch/program/type.h"

namespace torch::program {

class Cell;
struct TextHeap;
struct ListHeap;
struct DictHeap;
struct ObjectHeap;
struct FutureHeap;
struct EnumHeap;

struct TORCH_PROGRAM_API Heap : Counted {
  virtual ~Heap() = default;
  static void destroy(Heap* h) noexcept { delete h; }
};

class TORCH_PROGRAM_API Cell {
 public:
  enum class Tag : uint8_t {
    None,
    Bool,
    Int,
    Float,
    Device,  // in the word
    Tensor,
    Complex,
    String,
    List,
    Tuple,
    Dict,
    Object,
    Enum,
    Future,
    Host,  // counted
  };

  Cell() noexcept : tag_(Tag::None) { word_.i = 0; }
  Cell(bool v) noexcept : tag_(Tag::Bool) { word_.i = v; }
  Cell(int v) noexcept : Cell(int64_t(v)) {}
  Cell(int64_t v) noexcept : tag_(Tag::Int) { word_.i = v; }
  Cell(double v) noexcept : tag_(Tag::Float) { word_.d = v; }
  Cell(Device d) noexcept : tag_(Tag::Device) { word_.i = int64_t(d.type) * 256 + uint8_t(d.index); }
  Cell(torch::Tensor t) noexcept : tag_(t ? Tag::Tensor : Tag::None) { word_.i = 0, word_.t = t.release(); }
  Cell(std::complex<double> v);
  Cell(const Scalar& s);
  Cell(std::string s);
  Cell(std::string_view s) : Cell(std::string(s)) {}
  Cell(const char* s) : Cell(std::string(s)) {}
  Cell(const std::vector<int64_t>& list);
  template <class T>
  Cell(T*) = delete;

  static Cell list(std::vector<Cell> items, TypePtr element);
  static Cell tuple(std::vector<Cell> items, TypePtr type = nullptr);  // the type of a named one
  static Cell dict(TypePtr key, TypePtr value);
  static Cell take(Tag tag, Heap* h) noexcept {  // the reference becomes the cell's
    Cell c;
    c.tag_ = tag, c.word_.h = h;
    return c;
  }

  Cell(const Cell& o) noexcept : tag_(o.tag_), word_(o.word_) { retain(); }
  Cell(Cell&& o) noexcept : tag_(o.tag_), word_(o.word_) { o.tag_ = Tag::None; }
  Cell& operator=(Cell o) noexcept {
    std::swap(tag_, o.tag_);
    std::swap(word_, o.word_);
    return *this;
  }
  ~Cell() {
    if (tag_ >= Tag::Tensor) release();
  }

  // A number, in place: what an assignment does, without a cell in between.
  void set(bool v) noexcept { put(Tag::Bool).i = v; }
  void set(int64_t v) noexcept { put(Tag::Int).i = v; }
  void set(double v) noexcept { put(Tag::Float).d = v; }

  Tag tag() const noexcept { return tag_; }
  bool is(Tag t) const noexcept { return tag_ == t; }
  bool is_none() const noexcept { return tag_ == Tag::None; }
  bool is_number() const noexcept {
    return tag_ == Tag::Int || tag_ == Tag::Float || tag_ == Tag::Bool || tag_ == Tag::Complex;
  }

  // The value of a kind; ErrorKind::Type when it is another one. None is the undefined tensor.
  bool to_bool() const { return check(Tag::Bool), word_.i != 0; }
  int64_t to_int() const {
    if (TORCH_UNLIKELY(tag_ != Tag::Int && tag_ != Tag::Bool)) wrong(Tag::Int);
    return word_.i;
  }
  double to_double() const {
    if (TORCH_LIKELY(tag_ == Tag::Float)) return word_.d;
    return double(to_int());
  }
  std::complex<double> to_complex() const;
  Scalar to_scalar() const;
  torch::Device to_device() const {
    check(Tag::Device);
    return torch::Device(DeviceType(word_.i / 256), int8_t(word_.i % 256));
  }
  const torch::Tensor& to_tensor() const {
    static_assert(sizeof(torch::Tensor) == sizeof(void*));
    if (TORCH_UNLIKELY(tag_ != Tag::Tensor && tag_ != Tag::None)) wrong(Tag::Tensor);
    return *reinterpret_cast<const torch::Tensor*>(tag_ == Tag::Tensor ? &word_.t : &kNoTensor);
  }
  const std::string& to_string() const;
  std::vector<Cell>& items() const;  // of a list or a tuple
  ListHeap& to_list() const;
  DictHeap& to_dict() const;
  ObjectHeap& to_object() const;
  FutureHeap& to_future() const;
  EnumHeap& to_enum() const;
  Heap* heap() const noexcept { return word_.h; }
  std::vector<int64_t> to_ints() const;

  bool same(const Cell& o) const noexcept;  // `is`
  TypePtr type() const;                     // as precise as the value tells
  std::string repr() const;                 // as Python shows it
  std::string str() const;

 private:
  void retain() const noexcept {
    if (tag_ < Tag::Tensor) return;
    if (tag_ == Tag::Tensor)
      word_.t->retain();
    else
      word_.h->retain();
  }
  void release() noexcept;
  void check(Tag t) const {
    if (TORCH_UNLIKELY(tag_ != t)) wrong(t);
  }
  [[noreturn]] void wrong(Tag expected) const;
  static constexpr TensorImpl* kNoTensor = nullptr;

  union Word {
    int64_t i;
    double d;
    TensorImpl* t;
    Heap* h;
  };
  Word& put(Tag tag) noexcept {
    if (TORCH_UNLIKELY(tag_ >= Tag::Tensor)) release();
    tag_ = tag;
    return word_;
  }

  Tag tag_;
  Word word_;
};
static_assert(sizeof(Cell) == 16);

TORCH_PROGRAM_API const char* name(Cell::Tag tag) noexcept;
// ==, as TorchScript has it: by value; tensors are refused.
TORCH_PROGRAM_API bool equal(const Cell& a, const Cell& b);
// == as Python's lists ask for it: what is the same object is equal, tensors are by their values.
TORCH_PROGRAM_API bool alike(const Cell& a, const Cell& b);
// Whether a value may stand where a type is asked for; lists are looked into.
TORCH_PROGRAM_API bool matches(const Cell& c, const Type& t);

// Makes a value one of a type, where it can stand for one: an int for a float, a tuple for a list, a list for one whose
// elements fit. False when it cannot.
TORCH_PROGRAM_API bool fit(Cell& c, const TypePtr& t);

// One step of a walk over values that lie in others. Lists hold lists, and themselves: 1000 steps are a RecursionError.
class TORCH_PROGRAM_API Deeper {
 public:
  explicit Deeper(const char* walk);
  ~Deeper();
  Deeper(const Deeper&) = delete;
};

struct TextHeap final : Heap {
  std::string text;
  explicit TextHeap(std::string t) : text(std::move(t)) {}
};
struct ComplexHeap final : Heap {
  std::complex<double> value;
  explicit ComplexHeap(std::complex<double> v) : value(v) {}
};
struct TORCH_PROGRAM_API ListHeap final : Heap {  // and tuples
  std::vector<Cell> items;
  TypePtr type;  // of the elements; of a named tuple, its own
  ~ListHeap() override;
};
struct TORCH_PROGRAM_API ObjectHeap final : Heap {
  ClassPtr type;
  std::vector<Cell> slots;
  ~ObjectHeap() override;
};
struct EnumHeap final : Heap {
  TypePtr type;
  std::string name;
  Cell value;
};
struct FutureHeap final : Heap {
  TypePtr element;
  Cell value;
};
// Something that belongs to the host language, and that only the host looks into.
struct HostHeap : Heap {
  virtual std::string repr() const = 0;
};

// A dictionary remembers the order of insertion.
struct TORCH_PROGRAM_API DictHeap final : Heap {
  struct Hash {
    size_t operator()(const Cell& c) const;
  };
  struct Equal {
    bool operator()(const Cell& a, const Cell& b) const { return equal(a, b); }
  };
  struct Entry {
    Cell key, value;
    bool alive = true;
  };
  TypePtr key_type, value_type;
  std::vector<Entry> entries;
  std::unordered_map<Cell, size_t, Hash, Equal> index;
  ~DictHeap() override;

  const Cell* find(const Cell& key) const;
  void set(const Cell& key, Cell value);
  bool erase(const Cell& key);
  size_t size() const noexcept { return index.size(); }
};

}  // namespace torch::program
