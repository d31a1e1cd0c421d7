// Differentiates a region once, under watch.
#pragma once
#include <map>
#include <set>

#include "joint.h"
#include "sink.h"

namespace torch::program {

class JointBuilder {
 public:
  JointBuilder(Joint& to, const Cell* const* inputs) : to_(to), text_(to.text_), inputs_(inputs) {}
  bool build();

 private:
  class Watch;
  // What a backward consists of; values beyond the region's are numbered on from them.
  struct Found {
    std::vector<RegionCall> calls;
    std::vector<int> grads;    // the values of the gradients that come in
    std::vector<int> results;  // by tensor input; -1: none
  };

  bool run_forward();
  bool differentiate(unsigned which, Found& found);
  void choose();
  std::set<int> sources_of_kept() const;
  void write_forward();
  void write_backward(const Found& found, unsigned which);
  bool is_cheap(int value);
  bool is_better_kept(int value) const;
  int known(const Tensor& t) const;
  void know(const Tensor& t, int value);
  void note_reads(const RegionCall& call);

  Joint& to_;
  const RegionText& text_;
  const Cell* const* inputs_;
  std::vector<Cell> cells_;  // by value of the region
  std::vector<int> maker_;   // by value, the call that gives it; -1 of inputs
  int next_ = 0;             // the next value's number
  std::map<TensorImpl*, int> values_;
  std::vector<std::pair<Tensor, int>> alive_;
  std::set<int> read_;  // values of the region that some backward reads
  std::set<int> kept_;  // of these what forward gives
  std::map<int, bool> cheap_;
  std::vector<Found> found_;
};

}  // namespace torch::program
