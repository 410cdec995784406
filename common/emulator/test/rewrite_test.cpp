// Golden tests of the rewriter.
#include "rewrite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace {

std::string body(const std::string& source) {
  const std::string text = emulator::rewrite(source, "/dir/file.cu");
  const std::string head = "#line 1 \"/dir/file.cu\"\n";
  EXPECT_EQ(text.substr(0, head.size()), head);
  EXPECT_EQ(std::count(source.begin(), source.end(), '\n') + 1,
            std::count(text.begin(), text.end(), '\n'));
  return text.substr(head.size());
}

std::string in_kernel(const std::string& statement) {
  const std::string text = body("void k() { " + statement + " }");
  return text.substr(11, text.size() - 13);
}

std::string error(const std::string& source) {
  try {
    emulator::rewrite(source, "file.cu");
  } catch (const emulator::RewriteError& caught) {
    return caught.what();
  }
  return "";
}

TEST(Rewrite, Launches) {
  EXPECT_EQ(body("k<<<g, b>>>(x);"), "EMULATOR_LAUNCH(k)(g, b)(x);");
  EXPECT_EQ(body("return ::ns::k<kT, float, (a > b)><<<g, b, 0, s>>>(f(x), {1});"),
            "return EMULATOR_LAUNCH(::ns::k<kT, float, (a > b)>)(g, b, 0, s)(f(x), {1});");
  EXPECT_EQ(body("T::template k<A<B<int>>><<<g, b>>>();"),
            "EMULATOR_LAUNCH(T::template k<A<B<int>>>)(g, b)();");
  EXPECT_EQ(body("k\n  <<<g,\n b>>>\n(x);"), "EMULATOR_LAUNCH(k\n  )(g,\n b)\n(x);");
  EXPECT_EQ(body("table[i]<<<(a >> 2), b>>>(x);"), "EMULATOR_LAUNCH(table[i])((a >> 2), b)(x);");
  EXPECT_EQ(body("if (x) k<<<1, 2>>>(y); else k<<<3, 4>>>(y);"),
            "if (x) EMULATOR_LAUNCH(k)(1, 2)(y); else EMULATOR_LAUNCH(k)(3, 4)(y);");
}

TEST(Rewrite, TemplateClosersInsideALaunch) {
  EXPECT_EQ(body("k<<<n<A<B<int>>>(), 3>>>(x);"), "EMULATOR_LAUNCH(k)(n<A<B<int>>>(), 3)(x);");
  EXPECT_EQ(body("k<<<1, n<A<int>>>>>(x);"), "EMULATOR_LAUNCH(k)(1, n<A<int>>)(x);");
}

TEST(Rewrite, LeavesOtherTextAlone) {
  for (const std::string text :
       {"foo<bar<baz<int>>> x;", "a << b >> c; a <<= 1; b >>= 2;", "// k<<<1, 1>>>(x)\n",
        "/* __shared__ int a;\n k<<< */", "\"k<<<1>>>(x) \\\" __shared__\"",
        "'<'; '\\''; 1'000'000;", "R\"q(k<<<1>>>(x) )\" __shared__)q\"", "#if k<<<1\n#endif\n",
        "#define X \\\n  y\n", "x.operator<<<int>(y);", "// comment \\\n k<<<1>>>(x)\n",
        "#error it's here\n", "u8\"<<<\""}) {
    EXPECT_EQ(body(text), text);
  }
}

TEST(Rewrite, StaticShared) {
  EXPECT_EQ(in_kernel("__shared__ float a[4][8], b, *p;"),
            "struct EmulatorShared_1 {  float a[4][8], b, *p; };"
            " [[maybe_unused]] auto& a = ::emulator::detail::named_shared(\"a\", "
            "::emulator::detail::static_shared<EmulatorShared_1>().a);"
            " [[maybe_unused]] auto& b = ::emulator::detail::named_shared(\"b\", "
            "::emulator::detail::static_shared<EmulatorShared_1>().b);"
            " [[maybe_unused]] auto& p = ::emulator::detail::named_shared(\"p\", "
            "::emulator::detail::static_shared<EmulatorShared_1>().p);");
  EXPECT_EQ(in_kernel("static __shared__ __align__(16) Pair<int, 3>\n x[f(1, 2)];"),
            "struct EmulatorShared_1 {   __align__(16) Pair<int, 3>\n x[f(1, 2)]; };"
            " [[maybe_unused]] auto& x = ::emulator::detail::named_shared(\"x\", "
            "::emulator::detail::static_shared<EmulatorShared_1>().x);");
  EXPECT_EQ(in_kernel("__shared__ float (*q)[4];"),
            "struct EmulatorShared_1 {  float (*q)[4]; };"
            " [[maybe_unused]] auto& q = ::emulator::detail::named_shared(\"q\", "
            "::emulator::detail::static_shared<EmulatorShared_1>().q);");
}

TEST(Rewrite, DynamicShared) {
  EXPECT_EQ(in_kernel("extern __shared__ alignas(16) float s[];"),
            "struct EmulatorShared_1 {   alignas(16) float s[1]; }; auto* const s = "
            "::emulator::detail::dynamic_shared<decltype(EmulatorShared_1::s), "
            "alignof(EmulatorShared_1)>(\"s\");");
}

TEST(Rewrite, LaunchBounds) {
  EXPECT_EQ(body("__global__ void __launch_bounds__(kThreads) k(A a = {}) { f(); }"),
            "__global__ void __launch_bounds__(kThreads) k(A a = {}) "
            "{ ::emulator::detail::check_launch_bounds(kThreads); f(); }");
  EXPECT_EQ(body("__global__ void __launch_bounds__(C<kD, 3>::kThreads,  // why\n 2)\nk() {\n}"),
            "__global__ void __launch_bounds__(C<kD, 3>::kThreads,  // why\n 2)\nk() "
            "{ ::emulator::detail::check_launch_bounds(C<kD, 3>::kThreads, 2);\n}");
  EXPECT_EQ(body("__global__ __launch_bounds__((a >> 1)) void k() { __shared__ int x; }"),
            "__global__ __launch_bounds__((a >> 1)) void k() "
            "{ ::emulator::detail::check_launch_bounds((a >> 1)); "
            "struct EmulatorShared_1 {  int x; }; "
            "[[maybe_unused]] auto& x = ::emulator::detail::named_shared(\"x\", "
            "::emulator::detail::static_shared<EmulatorShared_1>().x); }");
  const std::string declaration = "__global__ void __launch_bounds__(8) k(int); void f() {}";
  EXPECT_EQ(body(declaration), declaration);
}

TEST(Rewrite, RefusesCallsOfKernels) {
  const std::string kernel =
      "template <int n> __global__ void __launch_bounds__(8)\nk(int* p) {}\n";
  const std::string refused =
      "file.cu:3: the kernel k is called like a function: a kernel is launched, "
      "k<<<blocks, threads>>>(...)";
  for (const std::string call : {"k(p);", "k<3>(p);", "k<A<int>::n>(p);", "if (x) k(p);",
                                 "a::b::k(p);", "return k<3>(p);"}) {
    EXPECT_EQ(error(kernel + "void f() { " + call + " }"), refused) << call;
  }
  for (const std::string other :
       {"k<3><<<1, 2>>>(p);", "auto* const at = k<3>;", "set(k<3>, 1);", "x.k(p);", "f(k);",
        "template __global__ void k<3>(int*);", "int k = 3;"}) {
    EXPECT_EQ(error(kernel + other), "") << other;
  }
}

TEST(Rewrite, ErrorsNameFileAndLine) {
  EXPECT_EQ(error("\nk<<<f(1, 2)>>>(x);"),
            "file.cu:2: a launch needs the number of blocks and the number of threads in each: "
            "<<<blocks, threads>>>");
  EXPECT_EQ(error("\n\nk<<<1, 2;"), "file.cu:3: launch <<< without its >>>");
  EXPECT_EQ(error("k<<<1, 2>>>;"), "file.cu:1: launch without its argument list after >>>");
  EXPECT_EQ(error("k<<<1, 2>>>(x"), "file.cu:1: unbalanced argument list of a launch");
  EXPECT_EQ(error("k<<<>>>(x)"), "file.cu:1: launch without a grid and a block");
  EXPECT_EQ(error("= <<<1>>>(x)"), "file.cu:1: launch without a kernel in front of <<<");
  EXPECT_EQ(
      error("\n#define RUN(x) k<<<1, 1>>>(x)\n"),
      "file.cu:2: a launch or __shared__ variable in a macro is not rewritten: use a template");
  EXPECT_EQ(error("namespace n {\n__shared__ int a;\n}"),
            "file.cu:2: a __shared__ variable outside a function is not emulated: declare it in "
            "the kernel");
  EXPECT_EQ(error("void k() { __shared__ int a = 1; }"),
            "file.cu:1: a __shared__ variable cannot be initialised");
  EXPECT_EQ(error("void k() { vector<int> __shared__ a; }"),
            "file.cu:1: write __shared__ in front of this type");
  EXPECT_EQ(
      error("void k() { extern __shared__ int a[3]; }"),
      "file.cu:1: extern __shared__ declares exactly one array without a bound: TYPE name[];");
  EXPECT_EQ(error("__global__ void __launch_bounds__ k() {}"),
            "file.cu:1: __launch_bounds__ without its list of bounds");
  EXPECT_EQ(error("\n\"abc\n"), "file.cu:2: literal without an end");
}

}  // namespace
