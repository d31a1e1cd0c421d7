// Recording what operators are called, as a graph.
//
//   Tracer tracer(graph);
//   tracer.set_value(x, graph->add_input("x"));
//   { Tracer::Recording on(tracer); y = model(x); }       // the calls of this thread
//   graph->register_output(tracer.value_of(y));
//
// It is the layer of the key Trace, above Autograd: a call is recorded once, whatever it consists of, and what it
// computes is the ordinary result. A tensor that no recorded call has made is a constant.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "torch/core/layer.h"
#include "torch/program/function.h"
#include "torch/program/graph.h"

namespace torch::program {

class TORCH_PROGRAM_API Tracer {
 public:
  explicit Tracer(GraphPtr graph) : graph_(std::move(graph)) {}
  Tracer(const Tracer&) = delete;

  const GraphPtr& graph() const noexcept { return graph_; }
  void set_value(const torch::Tensor& t, Value* v);
  bool has_value(const torch::Tensor& t) const;
  // The tensor in the same place that is known, where one was made past all operators (x.data); else null.
  const torch::Tensor* alias_of(const torch::Tensor& t) const;
  // The value that stands for a tensor: what made it, an attribute of a module, or a constant of the graph.
  Value* value_of(const torch::Tensor& t);
  // A tensor that is the attribute at the end of a path from `self`; read where it is first needed.
  void set_attribute(const torch::Tensor& t, std::vector<std::string> path);
  // The value of a module, from `self` along a path.
  Value* module_at(const std::vector<std::string>& path);
  void set_self(Value* self) { self_ = self; }

  // Whoever records without being asked to must not fail: any unknown tensor is a constant then.
  void set_observing(bool on) { observing_ = on; }
  // Nothing is recorded any more: for where the recording cannot end yet, since levels of transforms keep its key.
  void mute() noexcept { muted_ = true; }
  // Whether a call that was to be recorded threw.
  bool has_failed() const { return failed_; }

  // Objects that calls of methods are made of, by their paths from `self`.
  void set_object(const Cell& object, std::vector<std::string> path) { objects_[object.heap()] = std::move(path); }
  // Records a call of a function as one node, and runs it without recording. False when an argument has no value here;
  // then nothing has happened.
  bool call(const FunctionPtr& f, const std::vector<Cell>& arguments, Cell& result);

  // An int that an argument of the next call is made of: where it stands there, the value stands for it.
  void note_int(int64_t number, Value* v) { ints_.push_back({.number = number, .value = v, .calls = calls_}); }
  size_t forget_ints();  // how many no call has taken
  // Those that only their number told from others of a call, since their place is that of several calls or of none.
  const std::vector<int64_t>& guessed() const noexcept { return guessed_; }
  // A number of any kind that the next call takes: wherever it stands there, the value stands for it; or only as the
  // argument of this name, or this number, where the items of a list follow each other.
  struct Argument {
    int64_t at = -1;
    std::string name;
  };
  void note_number(Cell number, Value* v, Argument as) { numbers_.push_back({std::move(number), v, std::move(as)}); }

  // Says before each call that is recorded where it stands: sets what new nodes of the graph carry.
  struct TORCH_PROGRAM_API Locator {
    virtual ~Locator() = default;
    virtual void locate(Graph& g) = 0;
  };
  void set_locator(std::unique_ptr<Locator> l) { locator_ = std::move(l); }
  void locate() {  // for who makes nodes by hand
    if (locator_) locator_->locate(*graph_);
  }

  // Asked when values of a tensor become numbers of the host's program, also by the answer of an operator (then `what`
  // is its name: "equal"); null for not at all.
  using Reads = std::function<void(const torch::Tensor& t, const char* what)>;
  void set_reads(Reads f) { reads_ = std::move(f); }
  // From here on an operator that would write to the memory of this tensor is an error, before it does.
  void protect(const Tensor& t) { protected_.insert(t->storage); }
  // From here on operators take a copy in the place of a tensor, and of others in its memory: what they write, nobody
  // else sees. What they give is the tensor itself where it would be the copy.
  void lend(const Tensor& t, const Tensor& copy);
  // What operators take in the place of a tensor: itself, where no copy is lent.
  Tensor lent(const Tensor& t);

  static Tracer* current() noexcept;

  // The calls of this thread are recorded, or, with null, are not.
  class TORCH_PROGRAM_API Recording {
   public:
    explicit Recording(Tracer* t);
    explicit Recording(Tracer& t) : Recording(&t) {}
    ~Recording();
    Recording(const Recording&) = delete;

   private:
    Tracer* before_;
    ThreadKeys keys_;
  };

 private:
  static void value_was_read(const torch::Tensor& t, const char* what);
  static void layer(const Row& row, const torch::Value* arguments, Result& result);
  // What is the same for all calls of a row.
  struct Callee {
    std::string kind;
    const Signature* signature;
  };
  const Callee& callee(const Row& row);
  TypePtr type(const torch::Tensor& t);
  void record(const Row& row, const torch::Value* arguments, std::vector<Value*> inputs, Result& result);
  Value* constant(Cell c, int64_t at = -1, std::string_view name = {});
  std::vector<Value*> inputs_of(const Row& row, const torch::Value* arguments);
  // An int that was read of a tensor, until a call takes it.
  struct Note {
    int64_t number;
    Value* value;
    const void* place = nullptr;  // where the parser put it: a parameter, or ints of a list
    int64_t count = 0;            // of places in a list, or kOfIndex
    int64_t calls = 0;            // that had been recorded then
    bool is_here = false;         // the place is one of the call at hand
  };
  struct Noted {
    Cell number;
    Value* value;
    Argument as;
  };
  std::vector<Noted> numbers_;
  Value* int_value(int64_t i, const void* place, int64_t at, std::string_view name, bool by_number = true);
  void find_ints(const Row& row, const torch::Value* arguments);
  void drop_ints(const std::function<bool(const Note&)>& stays);
  static void int_was_placed(const void* place, int64_t count);
  Value* value_of_cell(const Cell& c);
  bool is_known(const Cell& c) const;
  void give(const Cell& c, Value* v);

  GraphPtr graph_;
  Value* self_ = nullptr;
  // By address, with open places: a call asks for each of its tensors and adds its results.
  class Known {
   public:
    Value* find(const TensorImpl* t) const noexcept;  // null: not there
    bool put(const TensorImpl* t, Value* v);          // whether it is new
    void erase(const TensorImpl* t) noexcept;         // which is there

   private:
    struct Place {
      const TensorImpl* tensor = nullptr;
      Value* value = nullptr;
    };
    size_t first(const TensorImpl* t) const noexcept {
      return (uintptr_t(t) >> 4) * 0x9E3779B97F4A7C15u >> 20 & (places_.size() - 1);
    }
    Place& place(const TensorImpl* t) noexcept;
    std::vector<Place> places_ = std::vector<Place>(256);  // a power of two, at most half of them taken
    size_t size_ = 0;
  };
  Known values_;
  // Constants of the last calls, which the next ones use again while they stand in the same block.
  struct Written {
    Cell cell;
    Value* value = nullptr;
  };
  Written written_[8];
  size_t next_written_ = 0;
  std::unordered_map<TensorImpl*, std::vector<std::string>> paths_;
  std::unordered_map<std::string, Value*> modules_;
  std::unordered_map<const void*, std::vector<std::string>> objects_;
  // What is known stays alive, so that an address means one tensor. One that only this list holds, memory and all, can
  // never come again: it is forgotten, so that a recorded program needs no more memory than one that runs.
  std::vector<torch::Tensor> kept_, attributes_;
  size_t young_ = 0;        // from here on kept_ was not looked through yet
  size_t next_look_ = 512;  // through all of it, when it has so many
  void forget_dead();
  std::vector<Note> ints_;
  std::vector<int64_t> guessed_;
  int64_t calls_ = 0;
  size_t left_ = 0;
  std::unordered_map<const Row*, Callee> callees_;
  std::vector<Value*> room_;  // for the inputs of the next call
  const Row* last_row_ = nullptr;
  const Callee* last_callee_ = nullptr;
  TypePtr last_type_;  // of neighbouring results, which are often alike
  std::unique_ptr<Locator> locator_;
  Reads reads_;
  std::unordered_set<const Storage*> protected_;
  struct Lent {
    torch::Tensor of, copy;
  };
  std::unordered_map<const TensorImpl*, Lent> lent_;
  std::unordered_map<const Storage*, torch::Tensor> copies_;
  void invoke(const Row& row, const torch::Value* arguments, Result& result);
  bool observing_ = false, failed_ = false, muted_ = false;
};

}  // namespace torch::program
