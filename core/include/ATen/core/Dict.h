// c10::Dict<Key, Value>: a dict whose copies are one dict and whose items come in the order in which they were
// inserted, as in Python.
//
//   c10::Dict<std::string, at::Tensor> found;
//   found.insert("x", x);
//   for (const auto& item : found) total += item.value().numel();
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include <iterator>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

namespace c10 {

template <class Key, class Value>
class Dict {
  struct Item {
    const Key& key() const { return key_; }
    const Value& value() const { return value_; }
    template <class V>
    void setValue(V&& value) const {
      value_ = std::forward<V>(value);
    }
    Key key_;
    mutable Value value_;
  };
  using Items = std::list<Item>;  // an item stays where it is
  struct State {
    Items items;
    std::unordered_map<Key, typename Items::iterator> places;
  };

 public:
  using key_type = Key;
  using mapped_type = Value;
  using size_type = size_t;
  using iterator = typename Items::iterator;

  Dict() : state_(std::make_shared<State>()) {}

  // Leaves a value that is there; the second of the pair tells whether it was new.
  std::pair<iterator, bool> insert(Key key, Value value) const {
    const auto found = state_->places.find(key);
    if (found != state_->places.end()) return {found->second, false};
    return {add(std::move(key), std::move(value)), true};
  }
  std::pair<iterator, bool> insert_or_assign(Key key, Value value) const {
    const auto found = state_->places.find(key);
    if (found == state_->places.end()) return {add(std::move(key), std::move(value)), true};
    found->second->value_ = std::move(value);
    return {found->second, false};
  }
  Value at(const Key& key) const {
    const auto found = state_->places.find(key);
    TORCH_CHECK(found != state_->places.end(), "Dict::at: there is no such key among ", size());
    return found->second->value_;
  }
  iterator find(const Key& key) const {
    const auto found = state_->places.find(key);
    return found == state_->places.end() ? end() : found->second;
  }
  bool contains(const Key& key) const { return state_->places.count(key) != 0; }
  size_t erase(const Key& key) const {
    const auto found = state_->places.find(key);
    if (found == state_->places.end()) return 0;
    state_->items.erase(found->second);
    state_->places.erase(found);
    return 1;
  }
  void erase(iterator item) const {
    state_->places.erase(item->key_);
    state_->items.erase(item);
  }
  void clear() const {
    state_->places.clear();
    state_->items.clear();
  }
  void reserve(size_t n) const { state_->places.reserve(n); }
  size_t size() const { return state_->items.size(); }
  bool empty() const { return state_->items.empty(); }
  iterator begin() const { return state_->items.begin(); }
  iterator end() const { return state_->items.end(); }
  Dict copy() const {
    Dict other;
    for (const Item& item : state_->items) other.insert(item.key_, item.value_);
    return other;
  }
  bool is(const Dict& other) const { return state_ == other.state_; }

 private:
  iterator add(Key key, Value value) const {
    const iterator item = state_->items.insert(state_->items.end(), Item{key, std::move(value)});
    state_->places.emplace(std::move(key), item);
    return item;
  }
  std::shared_ptr<State> state_;
};

}  // namespace c10

namespace at {
using c10::Dict;
}
namespace torch {
using c10::Dict;
}
