// Truth of the gradients of WKV and GLA. Formulas and sources: common/operators/wkv/wkv.hpp.
#include <cmath>
#include <vector>

#include "common/core/threads.hpp"
#include "common/operators/wkv/backwards.hpp"
#include "common/operators/wkv/truth.hpp"
#include "common/operators/wkv/truth_parts.hpp"

namespace ladder {
namespace {

using namespace wkv;
using Gradients = BasicWkvGradients<double>;

Gradients gradients(const WkvGradArgs& args, Of of) {
  const WkvArgs& a = args.forward;
  const bool gla = is_gla(a);
  Gradients result = zero_gradients<double>(a);
  // Threads divide heads, because sequences add to the same d_log_w and du.
#pragma omp parallel for if (worth_threads(wkv_fma_count(a)))
  for (std::int64_t h = 0; h < a.H; ++h) {
    for (std::int64_t sequence = 0; sequence < sequence_count(a); ++sequence) {
      const Head head(a, sequence, h, of);
      const Array u = head.u();
      const auto advance = [&](Matrix& state, std::int64_t n) {
        state = scaled_rows(exact_exp(head.log_w(n)), state) + outer(head.k(n), head.v(n));
      };
      Matrix G = head.state_of(args.d_final_state);
      const auto visit = [&](std::int64_t n, const Matrix& state) {
        const Array q = head.q(n), k = head.k(n), v = head.v(n), w = exact_exp(head.log_w(n));
        const Array d_o = head.factors(read(args.d_o + head.row(n) * a.V, a.V));
        const Matrix kv = outer(k, v);
        const Matrix d_read = head.scale() * outer(q, d_o);  // gradient of the matrix that q reads
        const Matrix read = gla ? Matrix(scaled_rows(w, state) + kv) : state + scaled_rows(u, kv);
        if (gla) G += d_read;
        const Matrix d_kv = gla ? G : G + scaled_rows(u, d_read);
        store(result.dq, head.row(n), Array(head.scale() * (read * d_o.matrix())));
        store(result.dk, head.row(n), Array(d_kv * v.matrix()));
        store(result.dv, head.row(n), Array(d_kv.transpose() * k.matrix()));
        add(result.d_log_w, head.decay(n), w * G.cwiseProduct(state).rowwise().sum().array());
        if (!gla) add(result.du, h * a.K, d_read.cwiseProduct(kv).rowwise().sum().array());
        G = scaled_rows(w, G);
        if (!gla) G += d_read;
      };
      visit_states_backwards(head.state_of(a.initial_state), head.sequence.length, advance, visit);
      if (!result.d_initial_state.empty()) store(result.d_initial_state, head.state, G);
    }
  }
  return result;
}

// The squared terms of a d_log_w that is summed over all steps. A product of d_o, q, k and v is a
// term of every step between its k and its q, once for each decay in it. These equal terms share
// their roundings, so their sum counts as one term. An fp32 d_log_w beside bf16 is judged more
// strictly without decay. Only states are then rounded, anew in each step, so the steps' terms are
// independent as in `gradients`.
void add_up_steps(const WkvGradArgs& args, Precision precision,
                  std::vector<double>& squared_terms) {
  const WkvArgs& a = args.forward;
  std::vector<double> sums(squared_terms.size(), 0.0);
  for (std::int64_t h = 0; h < a.H; ++h) {
    for (std::int64_t sequence = 0; sequence < sequence_count(a); ++sequence) {
      const Head head(a, sequence, h, Of::kSquaredTerms);
      // Sums of the products times 1, n and n^2, with n the number of decays in a product.
      Matrix once = head.state_of(a.initial_state);
      Matrix n_times = Matrix::Zero(a.K, a.V), squared = n_times;
      const auto decay = [&](const Array& w) {
        squared = scaled_rows(w, squared + 2 * n_times + once);
        n_times = scaled_rows(w, n_times + once);
        once = scaled_rows(w, once);
      };
      const auto read_by = [&](std::int64_t n) {
        const Array d_o = head.factors(read(args.d_o + head.row(n) * a.V, a.V));
        add(sums, h * a.K, head.scale() * head.q(n) * (squared * d_o.matrix()).array());
      };
      for (std::int64_t n = 0; n < head.sequence.length; ++n) {
        if (!is_gla(a)) read_by(n);
        decay(exact_exp(head.log_w(n)));
        once += outer(head.k(n), head.v(n));
        if (is_gla(a)) read_by(n);
      }
      const Matrix d_state = head.state_of(args.d_final_state);
      add(sums, h * a.K, squared.cwiseProduct(d_state).rowwise().sum().array());
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (a.log_w[i] != 0 || precision == Precision::kBf16) squared_terms[i] = sums[i];
  }
}

}  // namespace

Gradients wkv_gradients(const WkvGradArgs& args) {
  return gradients(args, Of::kValue);
}

std::vector<Truth> wkv_gradients_truth(const WkvGradProblem& problem, Arithmetic arithmetic) {
  const WkvCase& c = problem.drawn_case();
  const WkvGradArgs args = problem.args();
  Gradients squared_terms = gradients(args, Of::kSquaredTerms);
  if (c.decay_per_head) add_up_steps(args, c.precision, squared_terms.d_log_w);
  return truth_of(problem, c, args.forward, gradients(args, Of::kValue), squared_terms, arithmetic);
}

}  // namespace ladder
