// The ladder program. The script `ladder` builds and calls it.
#include "common/program/run.hpp"

int main(int argc, char** argv) {
  return ladder::program::run_ladder(argc, argv);
}
