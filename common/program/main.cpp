// The program of ./ladder run, which builds and calls it.
#include <string_view>

#include "common/diagnosis/second_start.hpp"
#include "common/program/apply.hpp"
#include "common/program/run.hpp"

int main(int argc, char** argv) {
  ladder::second_start(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "apply")
    return ladder::program::apply_ladder(argc - 1, argv + 1);
  return ladder::program::run_ladder(argc, argv);
}
