#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "08_flash_attention/11_tma/phase_barrier.hpp"

namespace {

using flash_attention::PhaseBarrier;

// A phase that has not ended is not waited for here, because the wait would never return. phase()
// shows it.
TEST(PhaseBarrier, EndsItsPhaseWithTheLastArrivalAndTheLastByte) {
  PhaseBarrier full(2);
  full.arrive_expect_tx(100);
  full.complete(100);
  EXPECT_EQ(full.phase(), 0u) << "an arrival is missing";
  full.arrive_expect_tx(50);
  EXPECT_EQ(full.phase(), 0u) << "bytes are missing";
  full.complete(30);
  full.complete(20);
  EXPECT_EQ(full.phase(), 1u);
  full.arrive(), full.arrive();
  EXPECT_EQ(full.phase(), 2u) << "the count begins anew by itself";
}

TEST(PhaseBarrier, TakesBytesBeforeTheyAreToldOf) {
  PhaseBarrier full(1);
  full.complete(100);
  EXPECT_EQ(full.phase(), 0u);
  full.arrive_expect_tx(100);
  EXPECT_EQ(full.phase(), 1u);
}

TEST(PhaseBarrier, LetsAWaitPassInThePhaseOfTheOtherParity) {
  PhaseBarrier full(1);
  full.wait(1);  // on a fresh barrier the phase before the first counts as complete
  full.arrive();
  full.wait(0);
  full.arrive();
  full.wait(1);
  EXPECT_EQ(full.phase(), 2u);
}

// Tile t is in stage t % 2, and its barrier is in phase t / 2. Two arrivals add the bytes of K and
// of V, two panels each.
TEST(PhaseBarrier, GoesThroughThePhasesOfThePicture) {
  constexpr int kPanelBytes = 128 * 64 * 2;
  std::array<PhaseBarrier, 2> stages{PhaseBarrier(2), PhaseBarrier(2)};
  for (std::uint32_t tile = 0; tile < 5; ++tile) {
    PhaseBarrier& full = stages[tile % 2];
    const std::uint32_t phase = tile / 2;
    for (int tensor = 0; tensor < 2; ++tensor) {
      full.arrive_expect_tx(2 * kPanelBytes);
      full.complete(kPanelBytes);
      EXPECT_EQ(full.phase(), phase) << "tile " << tile << " is in flight";
      full.complete(kPanelBytes);
    }
    EXPECT_EQ(full.phase(), phase + 1) << "tile " << tile << " has arrived";
    full.wait(phase % 2);
  }
}

// A ring of two stages, as in the kernel. One thread requests tiles, each tile has its own copy
// thread, and three readers use it. The kernel's __syncthreads shows that a stage has been read.
// Here a second barrier of each stage does so.
TEST(PhaseBarrier, KeepsARingOfTwoStagesInOrder) {
  constexpr int kStages = 2, kTiles = 100, kReaders = 3, kNumbers = 64;
  std::array<std::array<int, kNumbers>, kStages> tiles{};
  std::array<PhaseBarrier, kStages> full{PhaseBarrier(1), PhaseBarrier(1)};
  std::array<PhaseBarrier, kStages> empty{PhaseBarrier(kReaders), PhaseBarrier(kReaders)};
  const auto stage_of = [](int tile) { return static_cast<std::size_t>(tile % kStages); };
  const auto phase_of = [](int tile) { return static_cast<std::uint32_t>(tile / kStages % 2); };

  std::thread producer([&] {
    std::vector<std::thread> copies;
    for (int tile = 0; tile < kTiles; ++tile) {
      const std::size_t stage = stage_of(tile);
      empty[stage].wait(phase_of(tile) ^ 1);  // the previous round (none in round 0)
      full[stage].arrive_expect_tx(sizeof tiles[stage]);
      copies.emplace_back([&, tile, stage] {
        tiles[stage].fill(tile);
        full[stage].complete(sizeof tiles[stage]);
      });
    }
    for (std::thread& copy : copies)
      copy.join();
  });
  std::array<std::vector<int>, kReaders> sums;
  std::vector<std::thread> readers;
  for (std::vector<int>& own : sums) {
    readers.emplace_back([&] {
      for (int tile = 0; tile < kTiles; ++tile) {
        const std::size_t stage = stage_of(tile);
        full[stage].wait(phase_of(tile));
        own.push_back(std::accumulate(tiles[stage].begin(), tiles[stage].end(), 0));
        empty[stage].arrive();
      }
    });
  }
  producer.join();
  for (std::thread& reader : readers)
    reader.join();
  for (const std::vector<int>& own : sums) {
    ASSERT_EQ(own.size(), std::size_t{kTiles});
    for (int tile = 0; tile < kTiles; ++tile)
      EXPECT_EQ(own[static_cast<std::size_t>(tile)], tile * kNumbers) << "tile " << tile;
  }
  for (PhaseBarrier& each : full)
    EXPECT_EQ(each.phase(), std::uint64_t{kTiles / kStages});
}

}  // namespace
