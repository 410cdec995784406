// Prints each struct member of the operators' lists for generate.py, fields separated by tabs.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "common/core/lists.hpp"
#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

struct Member {
  std::string name, type, value, says;
};

template <typename Value>
std::string field_type() {
  if constexpr (std::is_same_v<Value, float>) return "float";
  if constexpr (std::is_same_v<Value, std::int64_t>) return "int64_t";
  static_assert(std::is_same_v<Value, float> || std::is_integral_v<Value> || std::is_enum_v<Value>);
  return "int32_t";
}

template <typename Pointer>
std::string pointer_type() {
  using Element = ladder::Pointee<Pointer>;
  std::string type = ladder::kIsInput<Pointer> ? "const " : "";
  if constexpr (std::is_same_v<Element, float>) return type + "float*";
  if constexpr (std::is_same_v<Element, std::int64_t>) return type + "int64_t*";
  return type + "void*";
}

// Gives each size another value, so that an axis can be matched with its size.
template <typename Args>
std::vector<Member> members_of() {
  std::vector<Member> members;
  std::map<std::int64_t, std::string> sizes;
  Args args;
  std::int64_t next = 1000;
  Args::fields(args, [&](const char* name, auto& value, auto... limits) {
    using Value = std::decay_t<decltype(value)>;
    char text[32];
    if constexpr (std::is_same_v<Value, float>) {
      std::snprintf(text, sizeof text, "%gf", value);
      if (std::string(text).find_first_of(".e") == std::string::npos)
        std::snprintf(text, sizeof text, "%.1ff", value);
    } else {
      std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
    }
    std::string says;
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      value = next += 1000;
      sizes[value] = name;
      sizes[value + 1] = name + std::string(" + 1");
      const std::vector<std::int64_t> least{limits...};
      if (!least.empty()) says = std::to_string(least[0]) + " or more";
    }
    members.push_back({name, field_type<Value>(), text, says});
  });
  Args::arrays(args, [&](const char* name, auto& pointer, const ladder::Axes& axes,
                         ladder::Presence presence = ladder::Presence::kRequired) {
    std::string says = "(";
    for (const ladder::Axis& axis : axes)
      says += (says == "(" ? "" : ", ") + sizes.at(axis.size);
    says += ")";
    if (presence == ladder::Presence::kOptional) says += ", or NULL";
    members.push_back({name, pointer_type<decltype(pointer)>(), "NULL", says});
  });
  return members;
}

// An array whose element type depends on the storage becomes a void*.
template <typename Args, typename... Others>
void print(const char* name) {
  std::vector<Member> members = members_of<Args>();
  for (const std::vector<Member>& others : {members_of<Others>()...}) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (others[i].type != members[i].type)
        members[i].type = members[i].type.starts_with("const") ? "const void*" : "void*";
    }
  }
  for (const Member& member : members) {
    std::printf("%s\t%s\t%s\t%s\t%s\n", name, member.name.c_str(), member.type.c_str(),
                member.value.c_str(), member.says.c_str());
  }
}

}  // namespace

int main() {
  using namespace ladder;
  print<WkvArgs, WkvBf16Args, WkvBf16Fp32DecayArgs>("wkv");
  print<WkvGradArgs, WkvGradBf16Args, WkvGradBf16Fp32DecayArgs>("wkv_backward");
  print<LinearAttentionArgs, LinearAttentionBf16Args>("linear_attention");
  print<AttentionArgs, AttentionBf16Args, AttentionFp16Args>("attention");
  print<AttentionGradArgs, AttentionGradBf16Args, AttentionGradFp16Args>("attention_backward");
}
