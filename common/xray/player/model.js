// What a request of a warp costs, as the emulator counts it (common/xray/recorder.cpp). Offsets are
// bytes, one for each of 32 lanes; null for a lane that takes no part. page_test.py checks these
// functions against every request in a recording.
"use strict";

const xrayModel = (() => {
  const kLanes = 32, kBanks = 32, kWordBytes = 4, kSectorBytes = 32;
  const is = (offset) => offset !== null && offset !== undefined;

  // The units of `size` bytes that an access touches.
  function unitsAt(offset, bytes, size) {
    const first = Math.floor(offset / size), last = Math.floor((offset + bytes - 1) / size);
    return Array.from({length: last - first + 1}, (_, i) => first + i);
  }

  const distinct = (offsets, bytes, size) =>
      [...new Set(offsets.filter(is).flatMap((offset) => unitsAt(offset, bytes, size)))].sort((a, b) => a - b);

  // The sectors that a request moves. Atomics to one address take turns, each with its sectors.
  function sectors(offsets, bytes, atomic = false) {
    if (!atomic) return distinct(offsets, bytes, kSectorBytes).length;
    let count = 0, waiting = offsets.filter(is);
    while (waiting.length > 0) {
      const turn = [...new Set(waiting)], later = [...waiting];
      for (const offset of turn) later.splice(later.indexOf(offset), 1);
      count += distinct(turn, bytes, kSectorBytes).length;
      waiting = later;
    }
    return count;
  }

  // For each bank, the distinct words that these lanes access.
  function wordsByBank(offsets, bytes) {
    const banks = Array.from({length: kBanks}, () => []);
    for (const word of distinct(offsets, bytes, kWordBytes)) banks[((word % kBanks) + kBanks) % kBanks].push(word);
    return banks;
  }

  const most = (banks) => Math.max(...banks.map((words) => words.length));

  function lanesPairUp(offsets, begin, count) {
    const pairUp = (distance) => {
      for (let lane = begin; lane < begin + count; ++lane) {
        const a = offsets[lane], b = offsets[lane ^ distance];
        if (is(a) && is(b) && a !== b) return false;
      }
      return true;
    };
    return pairUp(1) || pairUp(2);
  }

  // Lanes are served together up to 128 bytes: all 32 with 4 bytes, halves with 8, quarters with
  // 16. Two such groups share a wavefront if neighbouring lanes access the same words.
  function groups(offsets, bytes, matrixLoad = false) {
    const together = bytes <= kWordBytes ? kLanes : bytes === 8 ? kLanes / 2 : kLanes / 4;
    const found = [];
    for (let begin = 0; begin < kLanes; begin += 2 * together) {
      const part = (from, count) => wordsByBank(offsets.slice(from, from + count), bytes);
      const first = part(begin, together), second = part(begin + together, together);
      const both = part(begin, 2 * together);
      if (most(both) === 0) continue;
      const merge = most(first) === 0 || most(second) === 0 ||
          (!matrixLoad && most(both) === 1 && lanesPairUp(offsets, begin, Math.min(2 * together, kLanes - begin)));
      found.push(...(merge ? [both] : [first, second]));
    }
    return found;
  }

  function wavefronts(offsets, bytes, matrixLoad = false) {
    const served = groups(offsets, bytes, matrixLoad);
    const count = served.reduce((sum, banks) => sum + most(banks), 0);
    return {wavefronts: count, conflicts: count - served.length};
  }

  return {kLanes, kBanks, kWordBytes, kSectorBytes, is, distinct, sectors, wordsByBank, groups, wavefronts};
})();
