// ./ladder run
#pragma once

namespace ladder::program {

int run_ladder(int argc, char** argv);

}  // namespace ladder::program
