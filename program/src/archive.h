// The text of an archive. A line that begins with a word begins a record, indented lines belong to it:
//
//   torch program 1
//   operator aten::relu aten::relu(Tensor input) -> Tensor          the kind of nodes, what they call
//   enum __torch__.Color int
//     "RED" = 1
//   tuple __torch__.Point
//     "x" : int
//   class __torch__.Net module                                      after those that its attributes name
//     parameter "weight" : Tensor
//     method "forward" 0                                            the number of a function
//   tensor 0 float32 (2, 3) (3, 1) 0 data/0
//   object 0 __torch__.Net                                          after those that it holds
//     "weight" = tensor(0)
//   subgraph 0                                                      of prim::fork, before it is named
//   graph(...): ...
//   function 0 __torch__.Net.forward
//     default "n" = 3
//   graph(...): ...                                                 its graph
//   root object(0)
//
// What has no literal in a graph stands there in brackets: prim::Constant[value=<tensor(0)>](), <function(1)>,
// <graph(0)>, <type (int, Tensor)>.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reader.h"
#include "torch/program/archive.h"
#include "torch/program/graph.h"
#include "torch/program/signature.h"

namespace torch::program {

// How graphs name what has no literal.
struct Names {
  virtual std::string type(const TypePtr& t) = 0;
  virtual std::string attribute(const Attribute& a) = 0;  // empty: it has a literal

 protected:
  ~Names() = default;
};
struct Named {
  virtual Attribute attribute(Reader& in) = 0;

 protected:
  ~Named() = default;
};
std::string print(const Graph& g, Names& names);
GraphPtr parse_graph(const std::string& text, Classes* classes, Named& named);

std::string quoted(const std::string& text);      // as graphs show texts
std::string literal(const Cell& c);               // what has one
bool accepts(const Signature& f, const Node& n);  // whether a node's inputs fit as they are

// Module's data. Functions lose their graphs with it: cycles among them are none then, and chains are not deep.
struct Module::Held {
  std::string name;
  std::vector<FunctionPtr> functions;
  std::map<std::string, FunctionPtr, std::less<>> methods;
  Cell root;
  bool is_object = false;
  ~Held();
};

// The operators that an archive names, and those of this build that stand for them.
class Operators {
 public:
  void add(const std::string& kind, const std::string& schema);
  // Sets what the nodes of a graph call.
  void settle(Graph& g) const;

 private:
  struct Known {
    Signature then;
    const Signature* now;
    bool same;
  };
  void settle(Block* b) const;
  std::map<std::string, std::vector<Known>> known_;
};

// The tensors of an archive, by their number.
class TensorSource {
 public:
  virtual Tensor tensor(DType dtype, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                        int64_t offset, const std::string& member) = 0;

 protected:
  ~TensorSource() = default;
};
std::shared_ptr<const Module::Held> read_program(const std::string& text, const std::string& name,
                                                 TensorSource& tensors);

}  // namespace torch::program
