#include "best/rules.hpp"

#include <gtest/gtest.h>
