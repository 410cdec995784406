#include "report.hpp"

#include "play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

namespace emulator::xray {

extern const char* const page_template;  // page.html

namespace {

constexpr int kLabelWidth = 46;
constexpr std::size_t kColumnWidth = 20;  // at least

constexpr Operation kOperations[] = {Operation::kLoad, Operation::kStore, Operation::kAtomic};

std::string text_of(const Spread& spread) {
  return spread.least == spread.most ? grouped(spread.most)
                                     : grouped(spread.least) + "-" + grouped(spread.most);
}

template <typename Cell>
std::string row(const std::string& label, const std::vector<Subject>& subjects, const Cell& cell) {
  std::string line = fmt::format("{:<{}}", label, kLabelWidth);
  for (const Subject& subject : subjects) {
    const std::size_t width = std::max(kColumnWidth, subject.implementation.size() + 2);
    line += fmt::format("{:>{}}", cell(subject), width);
  }
  return line + "\n";
}

// Zero bank conflicts are shown if shared memory was used.
Counter what_it_is_of(Counter counter) {
  if (counter == kSharedLoadBankConflicts) return kSharedLoadWavefronts;
  if (counter == kSharedStoreBankConflicts) return kSharedStoreWavefronts;
  return counter;
}

const Traffic* traffic_of(const Subject& subject, const std::string& buffer, Operation operation) {
  for (const Buffer& each : subject.kernel.buffers) {
    const Traffic& traffic = each.traffic[static_cast<std::size_t>(operation)];
    if (each.name == buffer && traffic.requests > 0) return &traffic;
  }
  return nullptr;
}

std::string touches_table(const std::vector<Subject>& subjects) {
  std::vector<std::string> names;
  for (const Subject& subject : subjects) {
    for (const Buffer& buffer : subject.kernel.buffers) {
      if (std::find(names.begin(), names.end(), buffer.name) == names.end())
        names.push_back(buffer.name);
    }
  }
  std::string table;
  for (const Operation operation : kOperations) {
    for (const std::string& name : names) {
      const auto is_touched = [&](const Subject& subject) {
        return traffic_of(subject, name, operation) != nullptr;
      };
      if (std::none_of(subjects.begin(), subjects.end(), is_touched)) continue;
      const auto cell = [&](const Subject& subject) -> std::string {
        const Traffic* traffic = traffic_of(subject, name, operation);
        if (traffic == nullptr) return "0";
        return text_of(traffic->accesses_per_element) + " / " +
               text_of(traffic->requests_per_element);
      };
      table += row(fmt::format("  {:<7} {}", to_string(operation) + std::string("s"), name),
                   subjects, cell);
    }
  }
  return table;
}

nlohmann::json json_of(const Spread& spread) {
  return {{"least", spread.least}, {"mean", spread.mean}, {"most", spread.most}};
}

nlohmann::json json_of(const Traffic& traffic) {
  return {{"accesses", traffic.accesses},
          {"requests", traffic.requests},
          {"sectors", traffic.sectors},
          {"bytes_asked", traffic.bytes_asked},
          {"accesses_per_element", json_of(traffic.accesses_per_element)},
          {"requests_per_element", json_of(traffic.requests_per_element)}};
}

nlohmann::json json_of(const Party& party) {
  const auto triple = [](const uint3& index) {
    return nlohmann::json::array({index.x, index.y, index.z});
  };
  nlohmann::json called_at = nlohmann::json::array();
  for (const Source& caller : party.called_at)
    called_at.push_back({{"file", caller.file}, {"line", caller.line}});
  return {{"operation", to_string(party.operation)},
          {"by", party.by},
          {"file", party.where.file},
          {"line", party.where.line},
          {"called_at", called_at},
          {"block", triple(party.block)},
          {"thread", triple(party.thread)}};
}

nlohmann::json json_of(const Error& error) {
  return {{"kind", error.kind},
          {"message", error.message},
          {"space", to_string(error.space)},
          {"buffer", error.buffer},
          {"offset", error.offset},
          {"bytes", error.bytes},
          {"size", error.size},
          {"count", error.count},
          {"step", error.step < 0 ? nlohmann::json() : nlohmann::json(error.step)},
          {"party", json_of(error.party)},
          {"other", error.has_other ? json_of(error.other) : nlohmann::json()}};
}

nlohmann::json json_of(const Subject& subject) {
  const Kernel& kernel = subject.kernel;
  nlohmann::json counters = nlohmann::json::object();
  for (unsigned counter = 0; counter < kCounters; ++counter)
    counters[info(static_cast<Counter>(counter)).name] = kernel.counters[counter];

  nlohmann::json buffers = nlohmann::json::array();
  for (const Buffer& buffer : kernel.buffers) {
    buffers.push_back({{"name", buffer.name},
                       {"elements", buffer.elements},
                       {"element_bytes", buffer.element_bytes},
                       {"loads", json_of(buffer.loads())},
                       {"stores", json_of(buffer.stores())},
                       {"atomics", json_of(buffer.atomics())}});
  }

  nlohmann::json sites = nlohmann::json::array();
  for (const Access& access : kernel.accesses) {
    sites.push_back(
        {{"id", sites.size()},
         {"file", access.where.file},
         {"line", access.where.line},
         {"operation", std::string(to_string(access.space)) + " " + to_string(access.operation)},
         {"text", access.code},
         {"buffers", access.buffers},
         {"access_bytes", access.bytes},
         {"requests", access.requests},
         {"sectors", access.sectors},
         {"wavefronts", access.wavefronts},
         {"bank_conflicts", access.bank_conflicts}});
  }

  nlohmann::json steps = nlohmann::json::array();
  for (const Step& step : kernel.steps) {
    const Access& access = kernel.accesses[step.access];
    nlohmann::json lanes = nlohmann::json::array();
    for (const std::int64_t offset : step.offset)
      lanes.push_back(offset == Step::kIdle ? nlohmann::json() : nlohmann::json(offset));
    steps.push_back({{"site", step.access},
                     {"block", {step.block.x, step.block.y, step.block.z}},
                     {"warp", step.warp},
                     {"space", to_string(access.space)},
                     {"buffer", step.buffer},
                     {"bytes", access.bytes},
                     {"lanes", lanes},
                     {"sectors", step.sectors},
                     {"wavefronts", step.wavefronts},
                     {"bank_conflicts", step.bank_conflicts}});
  }

  nlohmann::json errors = nlohmann::json::array();
  for (const Error& error : kernel.errors)
    errors.push_back(json_of(error));

  nlohmann::json spans = nlohmann::json::array();
  for (const Span& span : kernel.timeline.spans)
    spans.push_back({{"what", to_string(span.kind)},
                     {"operation", span.operation},
                     {"file", span.where.file},
                     {"line", span.where.line},
                     {"row", span.row},
                     {"count", span.count},
                     {"from", span.from},
                     {"to", span.ended ? nlohmann::json(span.to) : nlohmann::json()}});
  nlohmann::json notes = nlohmann::json::array();
  for (const Note& note : kernel.notes)
    notes.push_back(
        {{"message", note.message}, {"file", note.where.file}, {"line", note.where.line}});

  return {{"chapter", subject.chapter},
          {"lesson", subject.lesson},
          {"implementation", subject.implementation},
          {"kernel", kernel.name},
          {"launches", kernel.launches},
          {"grid", {kernel.grid.x, kernel.grid.y, kernel.grid.z}},
          {"block", {kernel.block.x, kernel.block.y, kernel.block.z}},
          {"static_shared_bytes", kernel.static_shared_bytes},
          {"dynamic_shared_bytes", kernel.dynamic_shared_bytes},
          {"counters", counters},
          {"buffers", buffers},
          {"sites", sites},
          {"steps", steps},
          {"banks", {{"accesses", kernel.bank_accesses}, {"conflicts", kernel.bank_conflicts}}},
          {"too_large", kernel.too_large},
          {"partly_ordered", false},
          {"timeline", {{"row_threads", kernel.timeline.row_threads}, {"spans", spans}}},
          {"errors", errors},
          {"notes", notes}};
}

// [["b", 2], ["t", 37]] of "b=2, t=37" or "b=2 t=37".
nlohmann::json axes_of(const std::string& text) {
  nlohmann::json axes = nlohmann::json::array();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    axes.push_back({word.substr(0, equals), std::stoull(word.substr(equals + 1))});
  }
  return axes;
}

// Neighbouring lanes at equal distances, [first lane, lanes, offset of the first, distance].
nlohmann::json runs_of(const std::array<std::int64_t, kWarpSize>& offset, std::int64_t from) {
  nlohmann::json runs = nlohmann::json::array();
  for (unsigned lane = 0; lane < kWarpSize;) {
    const unsigned first = lane++;
    if (offset[first] == Step::kIdle) continue;
    std::int64_t distance = 0;
    for (; lane < kWarpSize && offset[lane] != Step::kIdle; ++lane) {
      const std::int64_t next = offset[lane] - offset[lane - 1];
      if (lane > first + 1 && next != distance) break;
      distance = next;
    }
    runs.push_back({first, lane - first, offset[first] - from, distance});
  }
  return runs;
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string to_table(const std::vector<Subject>& subjects) {
  std::string table = row("", subjects, place_of);
  std::set<std::string> names;
  for (const Subject& subject : subjects)
    names.insert(subject.implementation);
  table += row("", subjects, [](const Subject& each) { return each.implementation; });
  if (names.size() < subjects.size())  // several kernels of one implementation
    table += row("", subjects, [](const Subject& each) {
      return each.kernel.name.substr(0, each.kernel.name.find('<'));
    });
  table += row("blocks x threads", subjects, [](const Subject& each) {
    const dim3& grid = each.kernel.grid;
    const dim3& block = each.kernel.block;
    return fmt::format("{} x {}", std::uint64_t{grid.x} * grid.y * grid.z,
                       block.x * block.y * block.z);
  });
  for (unsigned i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    const auto says_nothing = [&](const Subject& each) {
      return each.kernel[counter] == 0 && each.kernel[what_it_is_of(counter)] == 0;
    };
    if (std::all_of(subjects.begin(), subjects.end(), says_nothing)) continue;
    table += row(fmt::format("{} ({})", info(counter).words, info(counter).unit), subjects,
                 [&](const Subject& each) { return grouped(each.kernel[counter]); });
  }
  table += "each element is touched (accesses of threads / requests of warps)\n" +
           touches_table(subjects);
  for (const Subject& subject : subjects) {
    for (const Error& error : subject.kernel.errors) {
      table += fmt::format("\n{}: {}{}\n", subject.implementation, error.message,
                           error.count > 1 ? fmt::format(" ({} times)", error.count) : "");
    }
    for (const Note& note : subject.kernel.notes)
      table += fmt::format("\n{}: {}\n", subject.implementation, note.message);
  }
  return table;
}

nlohmann::json to_json(const std::vector<Subject>& subjects) {
  nlohmann::json counters = nlohmann::json::array();
  for (unsigned i = 0; i < kCounters; ++i) {
    const CounterInfo& each = info(static_cast<Counter>(i));
    counters.push_back(
        {{"name", each.name}, {"words", each.words}, {"unit", each.unit}, {"nsight", each.nsight}});
  }
  nlohmann::json kernels = nlohmann::json::array();
  for (const Subject& subject : subjects)
    kernels.push_back(json_of(subject));
  return {{"schema", "kernel-ladder/xray/1"}, {"counters", counters}, {"kernels", kernels}};
}

std::string to_page(const nlohmann::json& report) {
  std::string json = report.dump();
  for (std::size_t at = json.find("</"); at != std::string::npos; at = json.find("</", at))
    json.insert(at + 1, "\\");  // a string must not end the page's <script>
  std::string page = page_template;
  const std::string hole = "/*XRAY*/";
  return page.replace(page.find(hole), hole.size(), json);
}

void write_case(std::ostream& to, const std::string& what, const std::vector<Subject>& subjects) {
  nlohmann::json report = to_json(subjects);
  report["case"] = what;
  to << report.dump();
}

// A step is [line, warp], for a request followed by the least offset, a pattern, and its cost:
// sectors, or wavefronts and bank conflicts; then the errors that it has. A pattern is a list of
// runs of lanes, [first lane, lanes, offset of the first, distance], from the least offset on.
void write_play(std::ostream& to, const Play& play) {
  nlohmann::json patterns = nlohmann::json::array(), steps = nlohmann::json::array();
  std::map<nlohmann::json, std::size_t> pattern_of;
  for (const Play::Step& step : play.steps) {
    const Play::Line& line = play.lines[step.line];
    nlohmann::json record = {step.line, step.warp};
    if (line.bytes > 0) {
      std::int64_t least = INT64_MAX;
      for (const std::int64_t offset : step.offset)
        if (offset != Step::kIdle) least = std::min(least, offset);
      const auto [found, is_new] =
          pattern_of.try_emplace(runs_of(step.offset, least), pattern_of.size());
      if (is_new) patterns.push_back(found->first);
      record.insert(record.end(), {least, found->second});
      if (line.operation.starts_with(to_string(Space::kShared))) {
        record.insert(record.end(), {step.wavefronts, step.bank_conflicts});
      } else {
        record.push_back(step.sectors);
      }
    }
    if (!step.errors.empty()) record.push_back({{"errors", step.errors}});
    steps.push_back(std::move(record));
  }
  nlohmann::json lines = nlohmann::json::array(), variables = nlohmann::json::array();
  for (const Play::Line& each : play.lines) {
    nlohmann::json line = {
        {"file", each.where.file}, {"line", each.where.line}, {"operation", each.operation}};
    if (each.bytes > 0) line["bytes"] = each.bytes;
    if (each.matrix_load) line["matrix_load"] = true;
    if (!each.array.empty()) line["array"] = each.array;
    for (const Source& caller : each.called_at)
      line["called_at"].push_back({{"file", caller.file}, {"line", caller.line}});
    lines.push_back(std::move(line));
  }
  for (const Play::Variable& each : play.variables) {
    variables.push_back({{"name", each.name},
                         {"offset", each.offset},
                         {"element_bytes", each.element_bytes},
                         {"extents", each.extents}});
  }
  nlohmann::json errors = nlohmann::json::array();
  for (const Error& error : play.errors)
    errors.push_back(json_of(error));
  to << nlohmann::json({{"schema", "kernel-ladder/play/1"},
                        {"kernel", play.kernel},
                        {"launches", play.launches},
                        {"grid", {play.grid.x, play.grid.y, play.grid.z}},
                        {"block", {play.block.x, play.block.y, play.block.z}},
                        {"of_block", {play.of_block.x, play.of_block.y, play.of_block.z}},
                        {"variables", variables},
                        {"lines", lines},
                        {"patterns", patterns},
                        {"steps", steps},
                        {"first", play.first},
                        {"steps_of_block", play.steps_of_block},
                        {"errors", errors}})
            .dump();
}

void write_values(std::ostream& to, const Values& values) {
  nlohmann::json head = {{"complete", values.complete}, {"all_takes", values.all_takes}};
  for (const auto& [name, element_bytes, shared, axes] : values.arrays)
    head["arrays"].push_back(
        {{"name", name}, {"bytes", element_bytes}, {"shared", shared}, {"axes", axes_of(axes)}});
  for (const auto& [kernel, grid, block] : values.launches) {
    head["kernels"].push_back(kernel);
    head["launches"].push_back({{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}});
  }
  for (const auto& [where, called_at] : values.places) {
    nlohmann::json place = {where.text()};
    for (const Source& caller : called_at)
      place.push_back(caller.text());
    head["places"].push_back(place);
  }
  head["touches"] = values.touches.size();
  head["takes"] = values.takes.size();
  to << head.dump() << "\n";
  for (const auto& touch : values.touches) {
    const std::uint64_t numbers[] = {static_cast<std::uint64_t>(touch.operation),
                                     touch.launch,
                                     touch.block,
                                     touch.thread,
                                     touch.place,
                                     touch.array,
                                     touch.element,
                                     touch.bits};
    to.write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  }
  for (const auto& take : values.takes) {
    const std::uint64_t numbers[] = {take.launch, take.block,  take.thread,
                                     take.place,  take.source, take.after};
    to.write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  }
  for (const auto& end : values.ends) {
    const std::uint64_t numbers[] = {end.launch,    end.block,     end.thread,   end.places[0],
                                     end.places[1], end.places[2], end.places[3]};
    to.write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  }
}

std::string fact_of(const Error& error) {
  nlohmann::json fact = json_of(error);
  fact["fact"] = "finding";
  // Within a warp __syncwarp() suffices. It is cut, so that one text covers both cases.
  const std::string in_a_warp = "no __syncwarp() or ";
  fact["in_a_warp"] = error.missing.starts_with(in_a_warp);
  fact["missing"] =
      fact["in_a_warp"] ? "no " + error.missing.substr(in_a_warp.size()) : error.missing;
  fact["without_places"] = error.without_places;
  return fact.dump();
}

std::string fact_of(const UsedBudget& budget) {
  return nlohmann::json({{"fact", "budget"},
                         {"used", budget.used},
                         {"allowed", budget.allowed},
                         {"what", budget.what},
                         {"per", budget.per},
                         {"implementation", budget.implementation},
                         {"dearest", budget.dearest}})
      .dump();
}

std::string counters_fact_of(const std::vector<Kernel>& kernels) {
  nlohmann::json counters = nlohmann::json::object();
  for (unsigned each = 0; each < kCounters; ++each) {
    const auto counter = static_cast<Counter>(each);
    std::uint64_t sum = 0;
    for (const Kernel& kernel : kernels)
      sum += kernel[counter];
    counters[info(counter).words] = sum;
  }
  return nlohmann::json({{"fact", "counters"}, {"counts", counters}}).dump();
}

}  // namespace emulator::xray
