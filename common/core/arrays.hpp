// What an operator's arguments say of themselves: the vocabulary of their two lists. Kernels see it, so it is C++17.
//
// An argument struct has two static member templates. `s` is the struct, const or not.
//
//     static void fields(Self& s, const Visit& visit)   every member that is no pointer, in order:
//         visit("T", s.T, 0)                              a size, and the least that is allowed
//         visit("W", s.W, 1, 8)                           and the most
//         visit("eps", s.eps, 1e-30f)                     a real number, and the least that is allowed
//         visit("scale", s.scale)                         any other member
//     static void arrays(Self& s, const Visit& visit)   every pointer, in order:
//         visit("q", s.q, {{"b", s.B}, {"t", s.T}, {"j", s.K}})
//         visit("final_state", s.final_state, {...}, Presence::kOptional)
//
// A pointer to const is an input, another an output. Everything else that the house needs to know follows from the two lists.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace ladder {

// One axis of an array: the letter of its index in messages, and its length.
struct Axis {
  const char* name = "";
  std::int64_t size = 0;
};

class Axes {
 public:
  Axes(std::initializer_list<Axis> axes) {
    for (const Axis& axis : axes)
      axes_[count_++] = axis;
  }
  const Axis* begin() const { return axes_; }
  const Axis* end() const { return axes_ + count_; }

 private:
  static constexpr int kMost = 6;
  Axis axes_[kMost];
  int count_ = 0;
};

enum class Presence {
  kRequired,  // may be null only where it has no elements
  kOptional,  // may be null
};

// A member that points to what is only read, although its type would allow a write: an input for the list.
template <typename Element>
const Element*& as_input(Element*& pointer) {
  return const_cast<const Element*&>(pointer);
}
template <typename Element>
const Element* const& as_input(Element* const& pointer) {
  return const_cast<const Element* const&>(pointer);
}

}  // namespace ladder
