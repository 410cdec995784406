// The two lists by which an operator's argument struct describes itself. C++17, for kernels.
//
// An argument struct has two static member templates. `s` is the struct, const or not.
//
//     static void fields(Self& s, const Visit& visit)   // every member except pointers, in order
//         visit("T", s.T, 0)                              // a size and its smallest allowed value
//         visit("W", s.W, 1, 8)                           // and its largest
//         visit("eps", s.eps, 1e-30f)                     // a real number and its smallest value
//         visit("scale", s.scale)                         // any other member
//     static void arrays(Self& s, const Visit& visit)   // every pointer, in order
//         visit("q", s.q, {{"b", s.B}, {"t", s.T}, {"j", s.K}})
//         visit("final_state", s.final_state, {...}, Presence::kOptional)
//
// A pointer to const is an input, any other an output. All else is derived from the two lists.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace ladder {

// One axis of an array, with the letter of its index in messages and its length.
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
  kRequired,  // may be null only if it has no elements
  kOptional,  // may be null
};

// Lists a pointer to non-const as an input, for memory that is only read.
template <typename Element>
const Element*& as_input(Element*& pointer) {
  return const_cast<const Element*&>(pointer);
}
template <typename Element>
const Element* const& as_input(Element* const& pointer) {
  return const_cast<const Element* const&>(pointer);
}

}  // namespace ladder
