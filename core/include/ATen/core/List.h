// c10::List<T>: a list whose copies are one list, as in Python.
//
//   c10::List<at::Tensor> found;
//   found.push_back(x);
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace c10 {

template <class T>
class List {
  using Values = std::vector<T>;

 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = typename Values::iterator;

  List() : values_(std::make_shared<Values>()) {}
  List(std::initializer_list<T> values) : values_(std::make_shared<Values>(values)) {}
  List(Values values) : values_(std::make_shared<Values>(std::move(values))) {}
  explicit List(torch::ArrayRef<T> values) : List(values.vec()) {}

  T get(size_t i) const { return values_->at(i); }
  T extract(size_t i) const { return std::move(values_->at(i)); }
  void set(size_t i, T value) const { values_->at(i) = std::move(value); }
  typename Values::reference operator[](size_t i) const { return values_->at(i); }
  void push_back(T value) const { values_->push_back(std::move(value)); }
  template <class... A>
  void emplace_back(A&&... a) const {
    values_->emplace_back(std::forward<A>(a)...);
  }
  void pop_back() const { values_->pop_back(); }
  iterator insert(iterator at, T value) const { return values_->insert(at, std::move(value)); }
  iterator erase(iterator at) const { return values_->erase(at); }
  void append(List other) const {
    const Values more = other.vec();  // `other` may be this list
    values_->insert(values_->end(), more.begin(), more.end());
  }
  void clear() const { values_->clear(); }
  void reserve(size_t n) const { values_->reserve(n); }
  void resize(size_t n) const { values_->resize(n); }
  void resize(size_t n, const T& value) const { values_->resize(n, value); }
  size_t size() const { return values_->size(); }
  bool empty() const { return values_->empty(); }
  iterator begin() const { return values_->begin(); }
  iterator end() const { return values_->end(); }
  Values vec() const { return *values_; }
  List copy() const { return List(*values_); }
  bool is(const List& other) const { return values_ == other.values_; }

 private:
  std::shared_ptr<Values> values_;
};

}  // namespace c10
