#include "common/operators/wkv/truth.hpp"

#include "common/core/threads.hpp"
#include "common/operators/wkv/truth_parts.hpp"

namespace ladder {
namespace {

using namespace wkv;

// Calls compute_head(head, result) for every head of every sequence.
template <typename ComputeHead>
WkvResult for_every_head(const WkvArgs& args, Of of, const ComputeHead& compute_head) {
  const std::int64_t heads = sequence_count(args) * args.H;
  WkvResult result;
  result.o.resize(args.B * args.T * args.H * args.V);
  result.final_state.resize(heads * args.K * args.V);
#pragma omp parallel for if (worth_threads(wkv_fma_count(args)))
  for (std::int64_t n = 0; n < heads; ++n)
    compute_head(Head(args, n / args.H, n % args.H, of), result);
  return result;
}

WkvResult recurrence(const WkvArgs& args, Of of) {
  return for_every_head(args, of, [&](const Head& head, WkvResult& result) {
    const Array u = head.u();
    Matrix state = head.state_of(args.initial_state);
    for (std::int64_t n = 0; n < head.sequence.length; ++n) {
      const Matrix kv = outer(head.k(n), head.v(n));
      const Matrix updated = scaled_rows(exact_exp(head.log_w(n)), state) + kv;
      const Matrix read = is_gla(args) ? updated : Matrix(state + scaled_rows(u, kv));
      const Matrix o = head.scale() * (head.q(n).matrix().transpose() * read);
      store(result.o, head.row(n), o);
      state = updated;
    }
    store(result.final_state, head.state, state);
  });
}

}  // namespace

WkvResult wkv_recurrence(const WkvArgs& args) {
  return recurrence(args, Of::kValue);
}

WkvResult wkv_closed_sum(const WkvArgs& args) {
  return for_every_head(args, Of::kValue, [&](const Head& head, WkvResult& result) {
    // sum over earlier steps of exp(sum of the log decays since) * k v^T, walking back from step n
    const auto state_before = [&](std::int64_t n) {
      Matrix state = Matrix::Zero(args.K, args.V);
      Array log_decay = Array::Zero(args.K);
      for (std::int64_t s = n - 1; s >= 0; --s) {
        state += outer(exact_exp(log_decay) * head.k(s), head.v(s));
        log_decay += head.log_w(s);
      }
      state += scaled_rows(exact_exp(log_decay), head.state_of(args.initial_state));
      return state;
    };
    for (std::int64_t n = 0; n < head.sequence.length; ++n) {
      const bool gla = is_gla(args);
      const double bonus = gla ? 0 : (head.q(n) * head.u() * head.k(n)).sum();
      const Matrix o =
          args.scale * (head.q(n).matrix().transpose() * state_before(gla ? n + 1 : n) +
                        bonus * head.v(n).matrix().transpose());
      store(result.o, head.row(n), o);
    }
    store(result.final_state, head.state, state_before(head.sequence.length));
  });
}

std::vector<Truth> wkv_truth(const WkvProblem& problem, Arithmetic arithmetic) {
  const WkvArgs args = problem.args();
  return truth_of(problem, problem.drawn_case(), args, recurrence(args, Of::kValue),
                  recurrence(args, Of::kSquaredTerms), arithmetic);
}

}  // namespace ladder
