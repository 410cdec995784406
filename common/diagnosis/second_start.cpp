#include "common/diagnosis/second_start.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "common/core/facts.hpp"
#include "common/core/parcel.hpp"
#include "common/diagnosis/probe.hpp"

namespace ladder {
namespace {

constexpr const char* kDiagnose = "--diagnose";
constexpr const char* kAnySchedule = "hardware";
constexpr double kMostBytes = 1 << 28;

std::string program;  // empty if main does not call second_start

// Called every few seconds. Ends a program that has hardly run since, or takes too long.
void look_whether_it_runs(int) {
  constexpr int kMostLooks = 10;
  static int looks = 0;
  static std::clock_t before = 0;
  const std::clock_t now = std::clock(), hardly = CLOCKS_PER_SEC / 100 * diagnosis_seconds();
  if (++looks == kMostLooks || now - before < hardly) {
    std::signal(SIGALRM, SIG_DFL);
    std::raise(SIGALRM);
  }
  before = now;
  alarm(static_cast<unsigned>(diagnosis_seconds()));
}

bool is_registered(const std::string& implementation) {
  const std::vector<Implementation> all = implementations();
  return std::any_of(all.begin(), all.end(),
                     [&](const Implementation& each) { return each.name == implementation; });
}

double bytes_of(const Problem& problem) {
  double bytes = 0;
  for (const auto& [name, elements] : problem.inputs())
    bytes += static_cast<double>(elements) * sizeof(float);
  return bytes;
}

void write(std::ostream& out, const Placed& result, Arithmetic arithmetic,
           const Excluded& excluded) {
  put(out, std::to_string(static_cast<int>(arithmetic)));
  for (const std::string& words : excluded)
    put(out, words);
  put(out, "");
  result.problem().write(out);
  const std::vector<unsigned char> outputs = result.outputs();
  put(out, {reinterpret_cast<const char*>(outputs.data()), outputs.size()});
  const std::string& name = result.implementation();
  const bool callable = is_registered(name);
  put(out, callable ? name : "");
  put(out, callable ? device(find_implementation(name).device).schedule() : kAnySchedule);
}

// The second start's diagnosis of what `write` has written.
std::string diagnosis_of(std::istream& in) {
  const auto arithmetic = static_cast<Arithmetic>(std::stoi(take(in)));
  Excluded excluded;
  for (std::string words = take(in); !words.empty(); words = take(in))
    excluded.push_back(words);
  const auto problem = read_problem(in);
  const std::string outputs = take(in), name = take(in), schedule = take(in);
  const auto result = problem->holding({outputs.begin(), outputs.end()}, name);
  if (name.empty()) return diagnosis(*result, nullptr, arithmetic, excluded);
  const Implementation& implementation = find_implementation(name);
  if (schedule != kAnySchedule) device(implementation.device).use_schedule(schedule);
  return diagnosis(*result, &implementation, arithmetic, excluded);
}

std::string not_started(const std::string& what, int error) {
  return "The diagnosis could not be started (" + what + ": " + std::strerror(error) +
         "). The verdict above holds.\n";
}

// How a second start without a diagnosis ended.
std::string sentence_for(int status) {
  if (!WIFSIGNALED(status)) {
    return "The diagnosis ended with status " + std::to_string(WEXITSTATUS(status)) +
           "; the verdict above holds.\n";
  }
  if (WTERMSIG(status) == SIGALRM) {
    return "The diagnosis was stopped because it hardly ran; the verdict above holds. Others may "
           "keep this computer busy, or the code waits for something.\n";
  }
  if (WTERMSIG(status) == SIGXCPU) {
    return "The diagnosis was stopped after " + std::to_string(diagnosis_seconds()) +
           " s; the verdict above holds. Either the case is too large to search, then a smaller "
           "one tells more, or the code does not end on other inputs.\n";
  }
  return "The diagnosis ended with signal " + std::to_string(WTERMSIG(status)) + " (" +
         strsignal(WTERMSIG(status)) + "); the verdict above holds.\n";
}

// Starts the program with `input` as standard input. Returns a sentence if it fails.
std::string start_again(int input, std::string& name) {
  int ends[2];
  if (pipe(ends) != 0) return not_started("pipe", errno);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string option = kDiagnose;
  char* const arguments[] = {program.data(), option.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  std::string answer;
  char part[4096];
  for (ssize_t count; (count = read(ends[0], part, sizeof part)) != 0;) {
    if (count > 0)
      answer.append(part, static_cast<std::size_t>(count));
    else if (errno != EINTR)
      break;
  }
  close(ends[0]);
  if (error != 0) return not_started(program, error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || answer.empty()) return sentence_for(status);
  name = answer.substr(0, answer.size() - 1);  // without the mark of its end
  return "";
}

// Looks for the name in a second start. Returns a sentence if that fails.
std::string look_for_name(std::string& name, const Excluded& excluded, const Verdict& verdict,
                          const Placed& result, Arithmetic arithmetic) {
  if (verdict.name_at == std::string::npos || program.empty() ||
      std::getenv("LADDER_NO_NAMES") != nullptr)
    return "";
  if (bytes_of(result.problem()) > kMostBytes) {
    name = "This case is too large to look for the name of the mistake.\n";
    return "";
  }
  const char* const folder = std::getenv("TMPDIR");
  std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/ladder_case_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return not_started(path, errno);
  std::ofstream out(path, std::ios::binary);
  unlink(path.c_str());  // still usable through open descriptors
  write(out, result, arithmetic, excluded);
  out.close();
  const std::string failure = out ? start_again(file, name) : not_started(path, errno);
  close(file);
  return failure;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

// "the result with the bonus forgotten" of "It equals the result with the bonus forgotten.\n".
std::string formula_in(const std::string& name) {
  const std::string begin = "It equals ", end = ".\n";
  if (!name.starts_with(begin) || !name.ends_with(end)) return "";
  return name.substr(begin.size(), name.size() - begin.size() - end.size());
}

}  // namespace

void second_start(int argc, char** argv) {
  program = std::filesystem::exists("/proc/self/exe") ? "/proc/self/exe" : argv[0];
  if (argc != 2 || std::string(argv[1]) != kDiagnose) return;
  std::signal(SIGXCPU, SIG_DFL);
  std::signal(SIGALRM, look_whether_it_runs);
  alarm(static_cast<unsigned>(diagnosis_seconds()));
  rlimit of_processor{};
  getrlimit(RLIMIT_CPU, &of_processor);
  of_processor.rlim_cur =
      std::min<rlim_t>(of_processor.rlim_max, static_cast<rlim_t>(diagnosis_seconds()));
  setrlimit(RLIMIT_CPU, &of_processor);
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const char* const file : {"EMULATOR_PRINTF", "EMULATOR_FACTS", "LADDER_FACTS"})
    unsetenv(file);
  // Output of the kernel's code is not part of the answer.
  const int answer = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const std::string name = diagnosis_of(std::cin) + '\0';  // marks the end
  const ssize_t written = ::write(answer, name.data(), name.size());
  std::_Exit(written == std::ssize(name) ? EXIT_SUCCESS : EXIT_FAILURE);
}

std::string named(const Verdict& verdict, const Placed& result, Arithmetic arithmetic) {
  return named_but_for({}, verdict, result, arithmetic);
}

std::string named_but_for(const Excluded& excluded, const Verdict& verdict, const Placed& result,
                          Arithmetic arithmetic) {
  std::string name;
  const std::string unnamed = look_for_name(name, excluded, verdict, result, arithmetic);
  const std::string message = verdict.named(name + unnamed);
  const nlohmann::json fact = {{"fact", "wrong result"},
                               {"message", message},
                               {"array", verdict.array},
                               {"case", result.problem().name()},
                               {"element", verdict.element},
                               {"yours", verdict.yours},
                               {"should_be", verdict.should_be},
                               {"all_zero", verdict.all_zero},
                               {"name", lines_of(name)},
                               {"equals", formula_in(name)},
                               {"unnamed", lines_of(unnamed)},
                               {"map", lines_of(verdict.map)},
                               {"numbers", lines_of(verdict.numbers)}};
  write_fact(fact.dump());
  return message;
}

}  // namespace ladder
