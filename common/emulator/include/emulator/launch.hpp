// kernel<<<grid, block, dynamic_shared, stream>>>(arguments), after the rewriter:
// EMULATOR_LAUNCH(kernel)(grid, block, dynamic_shared, stream)(arguments).
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "emulator/site.hpp"
#include "emulator/vector_types.hpp"

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace emulator::detail {

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared;
  cudaStream_t stream;
  emulator::Site where;
};

struct Kernel {
  const char* name;
  const void* address;  // null if the types of the arguments do not determine it
  void (*invoke)(const void* body);
  const void* body;  // holds the arguments
  std::size_t body_bytes;
  const void* const* pointers;  // the arguments that are pointers, null for the others
  std::size_t arguments;
};

// Runs the whole grid before it returns. Errors are recorded, never thrown.
void run(const Configuration& configuration, const Kernel& kernel);

// Appends `later` to the stream if the launch is valid, otherwise records the error.
void run_in_stream(const Configuration& configuration, const Kernel& kernel,
                   std::function<void()> later);

template <typename T>
const void* pointer_in(const T& argument) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    return const_cast<const void*>(static_cast<const volatile void*>(argument));
  } else {
    return nullptr;
  }
}

template <typename Body, typename... Arguments>
void run(const Configuration& configuration, const char* name, const void* address,
         const Body& body, const Arguments&... arguments) {
  const auto invoke = [](const void* each) { (*static_cast<const Body*>(each))(); };
  const void* const pointers[] = {pointer_in(arguments)..., nullptr};
  const Kernel kernel{name, address, invoke, &body, sizeof(Body), pointers, sizeof...(Arguments)};
  if (configuration.stream == nullptr) return run(configuration, kernel);
  Configuration now = configuration;
  now.stream = nullptr;
  run_in_stream(configuration, kernel, [=] { run(now, name, address, body, arguments...); });
}

struct NoAddress {};
struct Tag {};
template <typename Function>
struct As {};

template <typename... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};
template <typename... Each>
Overloaded(Each...) -> Overloaded<Each...>;

template <typename... Parameters>
auto address_of(Tag, void (*kernel)(Parameters...)) {
  return kernel;
}

// Compiler errors show this name and these types.
template <int number, typename Given, typename Wanted>
inline constexpr bool argument_fits = std::is_convertible_v<Given, Wanted>;

// A literal 0 may be a null pointer.
template <typename Argument, typename Parameter>
using Given = std::conditional_t<std::is_integral_v<Argument> && std::is_pointer_v<Parameter>,
                                 Parameter, std::decay_t<Argument>>;

template <typename Kernel, typename... Arguments>
inline constexpr bool kArgumentsFit = false;
template <typename... Parameters, typename... Arguments>
requires(sizeof...(Arguments) ==
         sizeof...(Parameters)) inline constexpr bool kArgumentsFit<void (*)(Parameters...),
                                                                    Arguments...> =
    (std::is_convertible_v<Given<Arguments, Parameters>, Parameters> && ...);

template <typename Address, typename Call>
struct Configured;

// The kernel is known, so its parameters' types convert the arguments, once.
template <typename... Parameters, typename Call>
struct Configured<void (*)(Parameters...), Call> {
  template <typename... Arguments>
  requires(!kArgumentsFit<void (*)(Parameters...), Arguments...>) void operator()(
      Arguments&&...) const {
    constexpr bool as_many = sizeof...(Arguments) == sizeof...(Parameters);
    static_assert(as_many, "the launch has more or fewer arguments than the kernel has parameters");
    if constexpr (as_many) {
      []<int... n>(std::integer_sequence<int, n...>) {
        static_assert((argument_fits<n + 1, Given<Arguments, Parameters>, Parameters> && ...),
                      "an argument of the launch has another type than the kernel's parameter");
      }
      (std::make_integer_sequence<int, sizeof...(Parameters)>());
    }
  }
  void operator()(Parameters... arguments) const {
    run(
        configuration, name, reinterpret_cast<const void*>(address),
        [kernel = address, arguments...] { kernel(arguments...); }, arguments...);
  }

  Configuration configuration;
  const char* name;
  void (*address)(Parameters...);
  Call call;
};

// The kernel's template arguments are deduced from the types of the arguments.
template <typename Call>
struct Configured<NoAddress, Call> {
  template <typename... Arguments>
  void operator()(Arguments... arguments) const {
    using Function = void (*)(Arguments...);
    const void* known = nullptr;
    if constexpr (!std::is_void_v<decltype(call(As<Function>{}))>)
      known = reinterpret_cast<const void*>(call(As<Function>{}));
    run(
        configuration, name, known, [call = call, arguments...] { call(arguments...); },
        arguments...);
  }

  Configuration configuration;
  const char* name;
  NoAddress address;
  Call call;
};

template <typename Address, typename Call>
struct Launcher {
  Configured<Address, Call> operator()(dim3 grid, dim3 block, std::size_t dynamic_shared = 0,
                                       cudaStream_t stream = nullptr,
                                       emulator::Site where = emulator::Site::current()) const {
    return {{grid, block, dynamic_shared, stream, where}, name, address, call};
  }

  const char* name;
  Address address;
  Call call;
};

template <typename Address, typename Call>
Launcher<Address, Call> launch(const char* name, Address address, Call call) {
  return {name, address, call};
}

}  // namespace emulator::detail

// `tag` makes the requires-expression dependent, so that it may fail without template arguments.
#define EMULATOR_LAUNCH(...)                                                            \
  ::emulator::detail::launch(                                                           \
      #__VA_ARGS__,                                                                     \
      [&](auto tag) {                                                                   \
        if constexpr (requires { ::emulator::detail::address_of(tag, __VA_ARGS__); }) { \
          return ::emulator::detail::address_of(tag, __VA_ARGS__);                      \
        } else {                                                                        \
          return ::emulator::detail::NoAddress{};                                       \
        }                                                                               \
      }(::emulator::detail::Tag{}),                                                     \
      ::emulator::detail::Overloaded{                                                   \
          [&]<typename Function>(::emulator::detail::As<Function>) {                    \
            if constexpr (requires { static_cast<Function>(__VA_ARGS__); })             \
              return static_cast<Function>(__VA_ARGS__);                                \
          },                                                                            \
          [&](const auto&... arguments) { __VA_ARGS__(arguments...); }})
