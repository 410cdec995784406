// c = a + b of views as an operator, for the tests, the ladder and the X-ray. On the host the
// matrices are dense. In their stored form the strides place their elements, with NaN between them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "00_warmup/03_two_dimensions/matrix_add.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct MatrixAddHost : MatrixAddViews {
  const float* a_values = nullptr;  // (M, N)
  const float* b_values = nullptr;  // (M, N)
  float* c = nullptr;               // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a_values", s.a_values, {{"row", s.M}, {"col", s.N}});
    visit("b_values", s.b_values, {{"row", s.M}, {"col", s.N}});
    visit("c", s.c, {{"row", s.M}, {"col", s.N}});
  }
};

enum class MatrixView { kDense, kTransposed, kPaddedRows, kEverySecondColumn };
constexpr const char* kMatrixViewWords[] = {"dense", "transposed", "padded_rows",
                                            "every_second_column"};

struct MatrixAddCase : ladder::SizedCase<MatrixAddSizes> {
  MatrixView a_view{}, b_view{}, c_view{};

  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    SizedCase::options(s, visit);
    visit("a_view", s.a_view, kMatrixViewWords), visit("b_view", s.b_view, kMatrixViewWords);
    visit("c_view", s.c_view, kMatrixViewWords);
  }
  Strides strides_of(MatrixView view) const {
    switch (view) {
      case MatrixView::kTransposed:
        return {1, M};  // of a matrix that is stored with N rows and M columns
      case MatrixView::kPaddedRows: return {N + 3, 1};
      case MatrixView::kEverySecondColumn: return {2 * N, 2};
      default: return {N, 1};
    }
  }
};

struct MatrixAdd {
  using Case = MatrixAddCase;
  using Memory = std::vector<double>;

  static ladder::Struct case_of(const ladder::Struct& sizes) {
    return ladder::Struct(Case{{sizes.as<MatrixAddSizes>()}});
  }
  static ladder::Struct host(const Case& c) {
    MatrixAddHost args;
    static_cast<MatrixAddSizes&>(args) = c;
    args.a_strides = c.strides_of(c.a_view);
    args.b_strides = c.strides_of(c.b_view);
    args.c_strides = c.strides_of(c.c_view);
    return ladder::Struct(args);
  }
  static double fma_count(const MatrixAddHost& a) {
    return static_cast<double>(a.M) * static_cast<double>(a.N);
  }
  static double additions(const MatrixAddHost&) { return 1; }

  static bool store(const ladder::Problem& problem, const ladder::Struct&,
                    const ladder::ListedArray& stored, void* elements) {
    const auto x = problem.args<MatrixAddHost>();
    const bool is_a = stored.name == "a";
    scatter(x, is_a ? x.a_values : x.b_values, is_a ? x.a_strides : x.b_strides,
            static_cast<float*>(elements));
    return true;
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const auto x = problem.args<MatrixAddHost>();
    ladder::Truth c;
    for (std::int64_t i = 0; i < x.M * x.N; ++i) {
      const double a = x.a_values[i], b = x.b_values[i];
      c.values.push_back(a + b);
      c.terms.push_back(std::hypot(a, b));
    }
    return {c};
  }

  // A view is judged as a dense matrix.
  static ladder::Outputs to_judge(const ladder::Problem& problem,
                                  const ladder::OutputsAt& outputs) {
    const auto x = problem.args<MatrixAddHost>();
    std::vector<float> dense;
    for_each_element(x, [&](std::int64_t row, std::int64_t col) {
      dense.push_back((*outputs[0])[row * x.c_strides.row + col * x.c_strides.col]);
    });
    return {dense};
  }

  // Memory between the view's elements must stay unwritten.
  static ladder::Verdict judge(const ladder::Problem& problem, const ladder::Outputs& outputs,
                               ladder::Arithmetic arithmetic) {
    const auto x = problem.args<MatrixAddHost>();
    std::vector<float> between = outputs[0];
    for_each_element(x, [&](std::int64_t row, std::int64_t col) {
      between[row * x.c_strides.row + col * x.c_strides.col] =
          std::numeric_limits<float>::quiet_NaN();
    });
    const auto written =
        std::count_if(between.begin(), between.end(), [](float x) { return !std::isnan(x); });
    ladder::Verdict verdict = problem.op().judge(problem, ladder::at(outputs), arithmetic);
    if (written > 0) {
      std::ostringstream text;
      text << (verdict.right ? "WRONG RESULT in c\n" : verdict.message) << written
           << " elements between those of the view were written\n";
      verdict.right = false;
      verdict.message = text.str();
    }
    return verdict;
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const auto x = problem.args<MatrixAddHost>();
    const std::vector<float>& c = *outputs[0].result;
    const Memory& right = *outputs[0].truth;
    const Strides dense{x.N, 1};
    // c as it would be if element (row, col) of a matrix were read at wrong's offset.
    const auto a_read_by = [&](const Strides& wrong) {
      Memory memory(static_cast<std::size_t>(x.span(x.a_strides)), nan());
      scatter(x, x.a_values, x.a_strides, memory.data());
      Memory other;
      for_each_element(x, [&](std::int64_t row, std::int64_t col) {
        other.push_back(memory[row * wrong.row + col * wrong.col] + x.b_values[row * x.N + col]);
      });
      return other;
    };
    const auto c_written_by = [&](const Strides& wrong) {
      Memory memory(static_cast<std::size_t>(x.span(x.c_strides)), nan());
      scatter(x, right.data(), wrong, memory.data());
      Memory other;
      for_each_element(x, [&](std::int64_t row, std::int64_t col) {
        other.push_back(memory[row * x.c_strides.row + col * x.c_strides.col]);
      });
      return other;
    };
    if (!is_dense(x, x.a_strides) && outputs[0].equals(a_read_by(dense)))
      return "equals the result with a read by the strides of a dense matrix\n";
    if (!is_dense(x, x.c_strides) && outputs[0].equals(c_written_by(dense)))
      return "equals the result with c written by the strides of a dense matrix\n";
    return explain_unwritten(x, c, right);
  }

 private:
  static double nan() { return std::numeric_limits<double>::quiet_NaN(); }
  static bool is_dense(const MatrixAddViews& x, const Strides& s) {
    return s.row == x.N && s.col == 1;
  }
  template <typename Visit>
  static void for_each_element(const MatrixAddViews& x, const Visit& visit) {
    for (std::int64_t row = 0; row < x.M; ++row) {
      for (std::int64_t col = 0; col < x.N; ++col)
        visit(row, col);
    }
  }
  template <typename From, typename To>
  static void scatter(const MatrixAddViews& x, const From* values, const Strides& strides,
                      To* memory) {
    for_each_element(x, [&](std::int64_t row, std::int64_t col) {
      memory[row * strides.row + col * strides.col] = static_cast<To>(values[row * x.N + col]);
    });
  }

  // Explains which elements were written if some are unwritten and the others are right.
  static std::string explain_unwritten(const MatrixAddViews& x, const std::vector<float>& c,
                                       const Memory& right) {
    std::int64_t rows = 0, cols = 0;  // the smallest corner with all written elements
    bool any_wrong = false, any_unwritten = false;
    for_each_element(x, [&](std::int64_t row, std::int64_t col) {
      const std::int64_t i = row * x.N + col;
      any_unwritten = any_unwritten || std::isnan(c[i]);
      if (std::isnan(c[i])) return;
      any_wrong = any_wrong || std::abs(c[i] - right[i]) > 1e-4;
      rows = std::max(rows, row + 1), cols = std::max(cols, col + 1);
    });
    if (any_wrong || !any_unwritten || rows == 0) return "";
    if (rows == 1 && cols == 1)
      return "only the first element was written: all threads have the same row and column\n";
    const auto are_written = [&](const auto& those) {
      bool same = true;
      for_each_element(x, [&](std::int64_t row, std::int64_t col) {
        same = same && those(row, col) == !std::isnan(c[row * x.N + col]);
      });
      return same;
    };
    const std::int64_t down = (x.M + kBlockRows - 1) / kBlockRows;
    const std::int64_t across = (x.N + kBlockColumns - 1) / kBlockColumns;
    const bool sizes_exchanged =
        are_written([&](std::int64_t row, std::int64_t col) { return row < x.N && col < x.M; });
    const bool axes_exchanged = are_written([&](std::int64_t row, std::int64_t col) {
      return row < across * kBlockColumns && col < down * kBlockRows;
    });
    if (sizes_exchanged) {
      return std::string("only elements with row < N and col < M were written: M and N") +
             (axes_exchanged ? ", or x and y," : "") + " are exchanged\n";
    }
    std::ostringstream text;
    text << "only the first " << rows << " rows and " << cols << " columns were written: ";
    if (axes_exchanged) {
      text << "x and y are exchanged\n";
      return text.str();
    }
    if (are_written([&](std::int64_t row, std::int64_t col) {
          return row * x.c_strides.row + col * x.c_strides.col < x.M * x.N;
        }))
      return "only elements with an offset below M * N were written: the mask takes strides\n";
    if (are_written([&](std::int64_t row, std::int64_t col) {
          return row % kBlockColumns < kBlockRows &&
                 col < (across - 1) * kBlockRows + kBlockColumns;
        }))
      return "only the elements were written that threads take if kRows and kColumns are "
             "exchanged\n";
    if (!are_written([&](std::int64_t row, std::int64_t col) { return row < rows && col < cols; }))
      return "";
    const bool one_down = rows == kBlockRows && rows < x.M;
    const bool one_across = cols == kBlockColumns && cols < x.N;
    if (one_down && one_across) {
      text << "blockIdx is missing, or the grid has one block\n";
    } else if (one_down && cols == x.N) {
      text << "blockIdx.y is missing, or the grid has one row of blocks\n";
    } else if (one_across && rows == x.M) {
      text << "blockIdx.x is missing, or the grid has one column of blocks\n";
    } else {
      text << "is the grid too small?\n";
    }
    return text.str();
  }

  static constexpr std::int64_t kBlockRows = 8, kBlockColumns = 32;
};

const ladder::OperatorRegistration matrix_add_registration(
    ladder::with_case<MatrixAdd, MatrixAddSizes, MatrixAddCase, MatrixAddHost, MatrixAddArgs>({
        .name = "matrix_add",
        .case_with = MatrixAdd::case_of,
        .host = ladder::of_case(MatrixAdd::host),
        .fma_count = ladder::of_host(MatrixAdd::fma_count),
        .truth = MatrixAdd::truth,
        .additions = ladder::of_host(MatrixAdd::additions),
        .store = MatrixAdd::store,
        .own_judge = ladder::judge_by(MatrixAdd::judge),
        .to_judge = MatrixAdd::to_judge,
        .explain = MatrixAdd::explain,
    }));

}  // namespace warmup
