// The ladder program. The script `ladder` builds and calls it.
#include "common/diagnosis/second_start.hpp"
#include "common/program/run.hpp"

int main(int argc, char** argv) {
  ladder::second_start(argc, argv);
  return ladder::program::run_ladder(argc, argv);
}
