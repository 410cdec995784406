// CUDA's vector types and alignments.
#pragma once

// A macro, because a template cannot create names.
#define EMULATOR_VECTOR_TYPES(name, Element)                                     \
  struct name##1 {                                                               \
    Element x;                                                                   \
  };                                                                             \
  struct alignas(2 * sizeof(Element)) name##2 {                                  \
    Element x, y;                                                                \
  };                                                                             \
  struct name##3 {                                                               \
    Element x, y, z;                                                             \
  };                                                                             \
  struct alignas(sizeof(Element) < 4 ? 4 * sizeof(Element) : 16) name##4 {       \
    Element x, y, z, w;                                                          \
  };                                                                             \
  constexpr name##1 make_##name##1(Element x) {                                  \
    return {x};                                                                  \
  }                                                                              \
  constexpr name##2 make_##name##2(Element x, Element y) {                       \
    return {x, y};                                                               \
  }                                                                              \
  constexpr name##3 make_##name##3(Element x, Element y, Element z) {            \
    return {x, y, z};                                                            \
  }                                                                              \
  constexpr name##4 make_##name##4(Element x, Element y, Element z, Element w) { \
    return {x, y, z, w};                                                         \
  }

EMULATOR_VECTOR_TYPES(char, signed char)
EMULATOR_VECTOR_TYPES(uchar, unsigned char)
EMULATOR_VECTOR_TYPES(short, short)
EMULATOR_VECTOR_TYPES(ushort, unsigned short)
EMULATOR_VECTOR_TYPES(int, int)
EMULATOR_VECTOR_TYPES(uint, unsigned int)
EMULATOR_VECTOR_TYPES(float, float)
EMULATOR_VECTOR_TYPES(longlong, long long)
EMULATOR_VECTOR_TYPES(ulonglong, unsigned long long)
EMULATOR_VECTOR_TYPES(double, double)

#undef EMULATOR_VECTOR_TYPES

// Extents of a grid or a block; omitted ones are 1.
struct dim3 {
  unsigned int x;
  unsigned int y;
  unsigned int z;

  constexpr dim3(unsigned int x_extent = 1, unsigned int y_extent = 1, unsigned int z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}
  constexpr dim3(uint3 extents) : x(extents.x), y(extents.y), z(extents.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
