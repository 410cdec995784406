#include "rewrite.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace emulator {
namespace {

enum class Kind { kWord, kLiteral, kPunctuation };

struct Token {
  Kind kind;
  std::size_t begin;
  std::size_t end;
  int line;
  std::string_view text;
};

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool continues_word(char c) {
  return starts_word(c) || is_digit(c);
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& file) : source_(source), file_(file) {}

  std::vector<Token> run() {
    bool at_line_start = true;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\n') at_line_start = true;
      if (is_space(c) || splice() > 0) {
        step();
      } else if (starts("//")) {
        line_comment();
      } else if (starts("/*")) {
        block_comment();
      } else if (c == '#' && at_line_start) {
        directive();
      } else {
        at_line_start = false;
        token();
      }
    }
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view text) const { return source_.substr(at_, text.size()) == text; }

  // Length of a backslash-newline here, or 0.
  std::size_t splice() const { return starts("\\\n") ? 2 : starts("\\\r\n") ? 3 : 0; }

  void step(std::size_t count = 1) {
    for (; count > 0 && at_ < source_.size(); --count) {
      if (source_[at_++] == '\n') ++line_;
    }
  }

  [[noreturn]] void fail(int line, const std::string& sentence) const {
    throw RewriteError(file_ + ":" + std::to_string(line) + ": " + sentence);
  }

  void line_comment() {
    while (at_ < source_.size() && source_[at_] != '\n')
      step(std::max<std::size_t>(1, splice()));
  }

  void block_comment() {
    const int line = line_;
    step(2);
    while (!starts("*/")) {
      if (at_ >= source_.size()) fail(line, "comment without an end");
      step();
    }
    step(2);
  }

  void directive() {
    const std::size_t first = tokens_.size();
    const int line = line_;
    step();
    while (at_ < source_.size() && source_[at_] != '\n') {
      const bool free_text =
          first < tokens_.size() && one_of(tokens_[first].text, {"error", "warning"});
      if (splice() > 0) {
        step(splice());
      } else if (starts("//")) {
        line_comment();
      } else if (starts("/*")) {
        block_comment();
      } else if (is_space(source_[at_]) || free_text) {
        step();
      } else {
        token();
      }
    }
    if (first < tokens_.size() && tokens_[first].text == "define") {
      for (std::size_t i = first + 1; i < tokens_.size(); ++i) {
        const bool launch = source_.substr(tokens_[i].begin, 3) == "<<<" &&
                            tokens_[i].kind == Kind::kPunctuation &&
                            tokens_[i - 1].text != "operator";
        if (launch || tokens_[i].text == "__shared__") {
          fail(line, "a launch or __shared__ variable in a macro is not rewritten: use a template");
        }
      }
    }
    tokens_.resize(first);
  }

  void quoted(char quote) {
    const int line = line_;
    step();
    while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n') {
      step(source_[at_] == '\\' ? 2 : 1);
    }
    if (at_ >= source_.size() || source_[at_] == '\n') fail(line, "literal without an end");
    step();
  }

  void raw_string() {
    const int line = line_;
    const std::size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) fail(line, "raw string without an end");
    const std::string closer =
        std::string(")").append(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t end = source_.find(closer, open);
    if (end == std::string_view::npos) fail(line, "raw string without an end");
    step(end + closer.size() - at_);
  }

  void number() {
    for (++at_; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      const bool sign = (c == '+' || c == '-') &&
                        std::string_view("eEpP").find(source_[at_ - 1]) != std::string_view::npos;
      const bool separator =
          c == '\'' && at_ + 1 < source_.size() && continues_word(source_[at_ + 1]);
      if (!continues_word(c) && c != '.' && !sign && !separator) break;
    }
  }

  void token() {
    const std::size_t begin = at_;
    const int line = line_;
    const char c = source_[at_];
    Kind kind = Kind::kPunctuation;
    if (starts_word(c)) {
      kind = Kind::kWord;
      while (at_ < source_.size() && continues_word(source_[at_]))
        ++at_;
      const std::string_view word = source_.substr(begin, at_ - begin);
      const char next = at_ < source_.size() ? source_[at_] : '\0';
      if (next == '"' && one_of(word, {"R", "u8R", "uR", "UR", "LR"})) {
        kind = Kind::kLiteral;
        raw_string();
      } else if ((next == '"' || next == '\'') && one_of(word, {"u8", "u", "U", "L"})) {
        kind = Kind::kLiteral;
        quoted(next);
      }
    } else if (c == '"' || c == '\'') {
      kind = Kind::kLiteral;
      quoted(c);
    } else if (is_digit(c) ||
               (c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]))) {
      kind = Kind::kLiteral;
      number();
    } else {
      // "<" and ">" stay single, because only neighbours distinguish shift, launch and template.
      const bool after_closer = begin > 0 && source_[begin - 1] == '>';
      const bool two =
          starts("::") || starts("->") || starts("<=") || (starts(">=") && !after_closer);
      at_ += two ? 2 : 1;
    }
    tokens_.push_back({kind, begin, at_, line, source_.substr(begin, at_ - begin)});
  }

  std::string_view source_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

class Rewriter {
 public:
  Rewriter(std::string_view source, const std::string& file)
      : source_(source), file_(file), tokens_(Lexer(source, file).run()) {
    match_brackets();
  }

  std::string run() {
    find_kernels();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (calls_a_kernel(i)) {
        const std::string name(text(i));
        fail(i, "the kernel " + name + " is called like a function: a kernel is launched, " + name +
                    "<<<blocks, threads>>>(...)");
      } else if (adjacent(i, "<<<") && (i == 0 || text(i - 1) != "operator")) {
        i = launch(i);
      } else if (text(i) == "__shared__") {
        i = shared(i);
      } else if (text(i) == "__launch_bounds__") {
        i = launch_bounds(i);
      }
    }
    return emit();
  }

 private:
  struct Edit {
    std::size_t end;
    std::string text;
  };

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::string_view text(std::size_t i) const { return i < tokens_.size() ? tokens_[i].text : ""; }
  bool is_word(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == Kind::kWord; }
  bool is_name(std::size_t i) const {
    return is_word(i) &&
           !one_of(text(i), {"return", "else", "do", "if", "while", "for", "switch", "case"});
  }

  // Three single tokens without a blank between them.
  bool adjacent(std::size_t i, std::string_view three) const {
    return i + 2 < tokens_.size() && tokens_[i].kind == Kind::kPunctuation &&
           tokens_[i + 2].end - tokens_[i].begin == 3 &&
           source_.substr(tokens_[i].begin, 3) == three;
  }

  [[noreturn]] void fail(std::size_t i, const std::string& sentence) const {
    throw RewriteError(file_ + ":" + std::to_string(tokens_[std::min(i, tokens_.size() - 1)].line) +
                       ": " + sentence);
  }

  // Branches of an #if may open a bracket twice, so a mismatch is an error only if a rewrite needs
  // it.
  void match_brackets() {
    partner_.assign(tokens_.size(), kNone);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != Kind::kPunctuation) continue;
      const char c = tokens_[i].text[0];
      if (c == '(' || c == '[' || c == '{') open.push_back(i);
      if (c != ')' && c != ']' && c != '}') continue;
      const char expected = c == ')' ? '(' : c == ']' ? '[' : '{';
      while (c == '}' && !open.empty() && text(open.back())[0] != expected)
        open.pop_back();
      if (open.empty() || text(open.back())[0] != expected) continue;
      partner_[i] = open.back();
      partner_[open.back()] = i;
      open.pop_back();
    }
  }

  void replace(std::size_t begin, std::size_t end, std::string with) {
    edits_[begin] = {end, std::move(with)};
  }

  std::string emit() const {
    std::string quoted_file;
    for (const char c : file_) {
      if (c == '"' || c == '\\') quoted_file += '\\';
      quoted_file += c;
    }
    std::string out = "#line 1 \"" + quoted_file + "\"\n";
    std::size_t at = 0;
    for (const auto& [begin, edit] : edits_) {
      out += source_.substr(at, begin - at);
      out += edit.text;
      at = edit.end;
    }
    return out.append(source_.substr(at));
  }

  // The "<" that belongs to the ">" at `close`.
  std::size_t template_start(std::size_t close, std::size_t launch) const {
    int depth = 0;
    for (std::size_t i = close;; --i) {
      if (text(i) == ">") ++depth;
      if (text(i) == "<" && --depth == 0) return i;
      if ((text(i) == ")" || text(i) == "]") && partner_[i] != kNone) i = partner_[i];
      if (i == 0 || one_of(text(i), {";", "{", "}"})) {
        fail(launch, "unbalanced template arguments in front of <<<");
      }
    }
  }

  // Finds the names of __global__ functions, which precede their parameters.
  void find_kernels() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (text(i) != "__global__") continue;
      for (std::size_t at = i + 1; at < tokens_.size() && !one_of(text(at), {";", "{", "}"});
           ++at) {
        if (text(at) != "(" || !is_name(at - 1)) continue;
        if (!is_alignment(at - 1) && text(at - 1) != "__launch_bounds__") {
          kernels_[text(at - 1)].insert(at - 1);
          break;
        }
        if (partner_[at] != kNone) at = partner_[at];
      }
    }
  }

  // Whether a statement calls the kernel at `i`, or the qualified name that ends there.
  bool calls_a_kernel(std::size_t i) const {
    const auto kernel = kernels_.find(text(i));
    if (kernel == kernels_.end() || kernel->second.count(i) != 0) return false;
    std::size_t first = i;
    while (first > 1 && text(first - 1) == "::" && is_name(first - 2))
      first -= 2;
    if (first == 0 || !one_of(text(first - 1), {";", "{", "}", ")", "else", "do", "return"}))
      return false;
    std::size_t at = i + 1;
    int angles = 0;
    for (; at < tokens_.size() && (angles > 0 || text(at) == "<"); ++at) {
      if (adjacent(at, "<<<") || one_of(text(at), {";", "{", "}"})) return false;
      if ((text(at) == "(" || text(at) == "[") && partner_[at] != kNone) at = partner_[at];
      angles += text(at) == "<" ? 1 : text(at) == ">" ? -1 : 0;
    }
    return text(at) == "(";
  }

  // First token of the kernel's expression before the <<< at `i`.
  std::size_t kernel_start(std::size_t i) const {
    std::size_t at = i;
    while (true) {
      if (at == 0) fail(i, "launch without a kernel in front of <<<");
      const std::size_t last = at - 1;
      if (text(last) == ">") {
        at = template_start(last, i);
        continue;
      }
      if (text(last) == "]" || text(last) == ")") {
        if (partner_[last] == kNone) fail(i, "unbalanced bracket in front of <<<");
        at = partner_[last];
        if (text(last) == ")" && (at == 0 || !is_name(at - 1))) return at;
        continue;
      }
      if (!is_name(last)) fail(i, "launch without a kernel in front of <<<");
      at = last;
      if (at > 0 && text(at - 1) == "template") --at;
      if (at == 0 || !one_of(text(at - 1), {"::", ".", "->"})) return at;
      --at;
      if (at == 0 || !(is_name(at - 1) || one_of(text(at - 1), {">", ")", "]"}))) return at;
    }
  }

  bool closes_later(std::size_t at) const {
    for (; at < tokens_.size() && text(at) != ";"; ++at) {
      if (one_of(text(at), {"(", "[", "{"}) && partner_[at] != kNone) at = partner_[at];
      if (adjacent(at, ">>>")) return true;
    }
    return false;
  }

  std::size_t launch(std::size_t i) {
    const std::size_t first = kernel_start(i);
    std::size_t at = i + 3;
    std::size_t angles = 0;
    bool has_block = false;
    while (true) {
      if (at >= tokens_.size() || one_of(text(at), {";", ")", "}", "]"})) {
        fail(i, "launch <<< without its >>>");
      }
      if (one_of(text(at), {"(", "[", "{"})) {
        if (partner_[at] == kNone) fail(at, "unbalanced bracket in a launch");
        at = partner_[at] + 1;
        continue;
      }
      has_block = has_block || text(at) == ",";
      if (text(at) == "<" && is_word(at - 1)) ++angles;
      if (text(at) != ">") {
        ++at;
        continue;
      }
      std::size_t run = 1;
      while (text(at + run) == ">" && tokens_[at + run].begin == tokens_[at].begin + run)
        ++run;
      if (run >= 3 && (run > angles || !closes_later(at + run))) {
        at += run - 3;
        break;
      }
      angles -= std::min(angles, run);
      at += run;
    }
    if (at == i + 3) fail(i, "launch without a grid and a block");
    if (!has_block) {
      fail(i,
           "a launch needs the number of blocks and the number of threads in each: "
           "<<<blocks, threads>>>");
    }
    if (text(at + 3) != "(") fail(at, "launch without its argument list after >>>");
    if (partner_[at + 3] == kNone) fail(at, "unbalanced argument list of a launch");
    replace(tokens_[first].begin, tokens_[first].begin, "EMULATOR_LAUNCH(");
    replace(tokens_[i].begin, tokens_[i + 2].end, ")(");
    replace(tokens_[at].begin, tokens_[at + 2].end, ")");
    return i + 2;
  }

  bool at_namespace_scope(std::size_t i) const {
    int depth = 0;
    std::size_t brace = i;
    while (brace-- > 0) {
      if (text(brace) == "}") ++depth;
      if (text(brace) == "{" && depth-- == 0) break;
    }
    if (brace == kNone) return true;
    for (std::size_t j = brace; j-- > 0;) {
      if (one_of(text(j), {";", "{", "}", ")", "="})) return false;
      if (text(j) == "namespace" ||
          (text(j) == "extern" && tokens_[j + 1].kind == Kind::kLiteral)) {
        return true;
      }
    }
    return false;
  }

  bool is_alignment(std::size_t i) const {
    return one_of(text(i), {"alignas", "__align__", "__attribute__"}) && text(i + 1) == "(" &&
           partner_[i + 1] != kNone;
  }

  // First token of the declaration's specifiers before the __shared__ at `i`.
  std::size_t specifiers_start(std::size_t i) const {
    std::size_t first = i;
    while (first > 0) {
      const std::size_t last = first - 1;
      const std::size_t open = text(last) == ")" ? partner_[last] : kNone;
      if (is_word(last) && !one_of(text(last), {"else", "do", "return"})) {
        first = last;  // also a type in front of __shared__
      } else if (one_of(text(last), {"::"})) {
        first = last;
      } else if (open != kNone && open > 0 && is_alignment(open - 1)) {
        first = open - 1;
      } else {
        break;
      }
    }
    if (first > 0 && !one_of(text(first - 1), {";", "{", "}", ":", ")"})) {
      fail(i, "write __shared__ in front of this type");
    }
    return first;
  }

  std::size_t shared(std::size_t i) {
    const std::size_t first = specifiers_start(i);
    if (at_namespace_scope(i)) {
      fail(i, "a __shared__ variable outside a function is not emulated: declare it in the kernel");
    }
    bool dynamic = false;
    std::vector<std::string> names;
    std::string name;  // of the current declarator: the last word outside brackets, or (*name)
    bool named = false;
    std::size_t angles = 0;
    std::size_t empty_bound = kNone;
    const auto finish = [&](std::size_t where) {
      if (name.empty()) fail(where, "a __shared__ declaration without a name");
      names.push_back(std::exchange(name, {}));
      named = false;
    };
    std::size_t at = first;
    for (; text(at) != ";"; ++at) {
      const std::string_view now = text(at);
      if (at >= tokens_.size() || now == "}") fail(i, "a __shared__ declaration without its ;");
      if (now == "=" || now == "{") fail(at, "a __shared__ variable cannot be initialised");
      if (one_of(now, {"extern", "static", "__shared__"})) {
        dynamic = dynamic || now == "extern";
        replace(tokens_[at].begin, tokens_[at].end, "");
      } else if (is_alignment(at)) {
        at = partner_[at + 1];
      } else if (now == "[" || now == "(") {
        const std::size_t close = partner_[at];
        if (close == kNone) fail(at, "unbalanced bracket in a __shared__ declaration");
        if (now == "[" && close == at + 1) empty_bound = at;
        named = named || now == "[";
        if (now == "(" && one_of(text(at + 1), {"*", "&"})) {
          for (std::size_t j = at; j < close && text(j) != "["; ++j) {
            if (is_word(j) && text(j) != "const") name = text(j);
          }
          named = true;
        }
        at = close;
      } else if (now == "<") {
        ++angles;
      } else if (now == ">") {
        angles -= std::min<std::size_t>(angles, 1);
      } else if (now == "," && angles == 0) {
        finish(at);
      } else if (is_word(at) && angles == 0 && !named) {
        name = now;
      }
    }
    finish(at);

    const std::string site = "EmulatorShared_" + std::to_string(++sites_);
    std::string tail = "; };";
    if (dynamic) {
      if (names.size() != 1 || empty_bound == kNone) {
        fail(i, "extern __shared__ declares exactly one array without a bound: TYPE name[];");
      }
      replace(tokens_[empty_bound].end, tokens_[empty_bound].end, "1");
      tail += " auto* const " + names[0] + " = ::emulator::detail::dynamic_shared<decltype(" +
              site + "::" + names[0] + "), alignof(" + site + ")>(\"" + names[0] + "\");";
    } else {
      if (empty_bound != kNone) fail(i, "a __shared__ array without a bound must be extern");
      for (const std::string& each : names) {
        tail += " [[maybe_unused]] auto& " + each + " = ::emulator::detail::named_shared(\"" +
                each + "\", ::emulator::detail::static_shared<" + site + ">()." + each + ");";
      }
    }
    const std::size_t begin = tokens_[first].begin;
    edits_.try_emplace(begin, Edit{begin, ""}).first->second.text = "struct " + site + " { ";
    replace(tokens_[at].begin, tokens_[at].end, tail);
    return at;
  }

  // A kernel with __launch_bounds__(THREADS, ...) begins with a check of THREADS, whose value the
  // compiler knows in the body. The check stays on the same line.
  std::size_t launch_bounds(std::size_t i) {
    const std::size_t open = i + 1, close = text(open) == "(" ? partner_[open] : kNone;
    if (close == kNone) fail(i, "__launch_bounds__ without its list of bounds");
    std::string bounds;
    for (std::size_t at = open + 1; at < close; ++at) {
      if (at > open + 1 && tokens_[at].begin > tokens_[at - 1].end) bounds += ' ';
      bounds += text(at);
    }
    std::size_t at = close + 1;
    for (; at < tokens_.size() && !one_of(text(at), {"{", ";"}); ++at) {
      if (one_of(text(at), {"(", "["}) && partner_[at] != kNone) at = partner_[at];
    }
    if (text(at) == "{") {
      edits_[tokens_[at].end] = {tokens_[at].end,
                                 " ::emulator::detail::check_launch_bounds(" + bounds + ");"};
    }
    return close;
  }

  std::string_view source_;
  const std::string& file_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> partner_;
  std::map<std::size_t, Edit> edits_;
  std::map<std::string_view, std::set<std::size_t>> kernels_;  // and where they are declared
  int sites_ = 0;
};

}  // namespace

std::string rewrite(std::string_view source, const std::string& file) {
  return Rewriter(source, file).run();
}

}  // namespace emulator
