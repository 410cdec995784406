#include "common/bench/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>

#include "common/bench/build.hpp"

namespace ladder::bench {

SelectionOptions::SelectionOptions(CLI::App& app, const std::string& default_shape,
                                   const std::string& attention_shape)
    : default_shape_(default_shape), attention_shape_(attention_shape) {
  app.footer("Shapes:\n" + known_shapes());
  app.add_option("chapters", selection_.chapters,
                 "Only these: numbers or folder names (01 02_openmp)");
  app.add_option("--shape", shape_,
                 fmt::format("A name, or sizes such as T=54,V=128; those left out are as in the "
                             "default, {} (for softmax attention: {})",
                             default_shape, attention_shape));
  app.add_option("--operator", selection_.op, "One of: " + operators())->capture_default_str();
  app.add_option("--precision", precision_,
                 "fp32, bf16, bf16_fp32_decay (log_w in fp32), or fp16 (attention only)")
      ->capture_default_str();
  app.add_option("--implementation", selection_.names, "Only this one, by name; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--causal", selection_.causal, "Attention in which a query sees no later key");
  app.add_flag("--states", selection_.states, "WKV or GLA from an initial to a final state");
  app.add_flag("--all", all_, "Variants too, not only the rungs");
  app.add_option("--condition", conditions_, "key value, kept in the JSON (commit, driver, ...)")
      ->group("");  // set by the script
}

Selection SelectionOptions::selection() const {
  Selection result = selection_;
  const Shape base = parse_shape(grows_quadratically(result) ? attention_shape_ : default_shape_);
  result.shape = shape_ ? parse_shape(*shape_, base) : base;
  result.precision = parse_precision(precision_);
  result.rungs_only = !all_;
  return result;
}

std::map<std::string, std::string> SelectionOptions::conditions() const {
  auto conditions = conditions_;
  const std::string commit = commit_of(source_folder());
  if (!commit.empty()) conditions["commit"] = commit;
  conditions.insert({"commit", "unknown"});
  conditions["compiler"] = compiler();
  return conditions;
}

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work) try {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kUsage;
  }
  return work();
} catch (const std::invalid_argument& error) {
  fmt::print(stderr, "\r{}\n", error.what());
  return kUsage;
} catch (const std::bad_alloc&) {
  fmt::print(stderr, "\rThere is not enough memory for this --shape; allowed: a smaller one\n");
  return kUsage;
} catch (const std::exception& error) {
  fmt::print(stderr, "\r{}\n", error.what());
  return kWrongResult;
}

void require_writable(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  const bool existed = std::filesystem::exists(path);
  const bool writable = std::ofstream(path, std::ios::app).good();
  if (writable && !existed) std::filesystem::remove(path);
  if (!writable) {
    throw std::invalid_argument(
        fmt::format("{} is '{}'; allowed: a path that can be written", option, path));
  }
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream file(path);
  file << contents;
  if (!file.flush()) throw std::runtime_error("could not write " + path);
  fmt::print("written: {}\n", path);
}

std::string progress_text(const std::string& what, bool terminal) {
  if (terminal) return "\r\033[K" + what;
  return what.empty() ? "" : what + "\n";
}

void show_progress(const std::string& what) {
  fmt::print(stderr, "{}", progress_text(what, isatty(STDERR_FILENO) == 1));
  std::fflush(stderr);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace ladder::bench
