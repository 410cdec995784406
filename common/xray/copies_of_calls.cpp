// A plugin of g++ that makes a statement of each struct that a call copies.
//
// -fsanitize=thread reports the loads and stores of assignments only. In f(p[i]) and p[i] = f() the
// copy of a struct is part of the call, so the X-ray would not see it. If f is not inlined, they
// become, before the sanitizer's pass,
//     argument = p[i];  f(argument)    and    result = f();  p[i] = result
#include "gcc-plugin.h"

#include "tree.h"

#include "backend.h"

#include "gimple.h"

#include "context.h"
#include "gimple-expr.h"
#include "gimple-iterator.h"
#include "gimplify.h"
#include "plugin-version.h"
#include "ssa.h"
#include "tree-cfg.h"
#include "tree-pass.h"

int plugin_is_GPL_compatible;

namespace {

// A struct in memory, not a variable of the function, that may be copied byte by byte.
bool is_copied(tree value) {
  return value && !is_gimple_reg_type(TREE_TYPE(value)) && !TREE_ADDRESSABLE(TREE_TYPE(value)) &&
         COMPLETE_TYPE_P(TREE_TYPE(value)) && TREE_CODE(value) != CONSTRUCTOR &&
         !(DECL_P(value) && !is_global_var(value));
}

const pass_data kData = {
    GIMPLE_PASS, "copies_of_calls", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0,
    0,           TODO_update_ssa};

struct Pass : gimple_opt_pass {
  Pass() : gimple_opt_pass(kData, g) {}

  unsigned execute(function* of) override {
    basic_block block;
    FOR_EACH_BB_FN(block, of) {
      for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        gcall* const call = dyn_cast<gcall*>(gsi_stmt(at));
        if (!call || gimple_call_internal_p(call)) continue;
        load_arguments(call, at);
        store_result(call, at);
      }
    }
    gsi_commit_edge_inserts();
    return 0;
  }

 private:
  static void load_arguments(gcall* call, gimple_stmt_iterator& at) {
    for (unsigned i = 0; i < gimple_call_num_args(call); ++i) {
      const tree value = gimple_call_arg(call, i);
      if (!is_copied(value)) continue;
      const tree copy = create_tmp_var(TREE_TYPE(value), "argument");
      gsi_insert_before(&at, assignment(copy, unshare_expr(value), call), GSI_SAME_STMT);
      gimple_call_set_arg(call, i, copy);
      update_stmt(call);
    }
  }

  static void store_result(gcall* call, gimple_stmt_iterator& at) {
    const tree target = gimple_call_lhs(call);
    // A call that may throw ends its block, and the store is where it goes on if it returns.
    const edge after = stmt_ends_bb_p(call) ? find_fallthru_edge(gimple_bb(call)->succs) : nullptr;
    if (!is_copied(target) || (stmt_ends_bb_p(call) && !after)) return;
    const tree copy = create_tmp_var(TREE_TYPE(target), "result");
    gimple* const store = assignment(unshare_expr(target), copy, call);
    gimple_call_set_lhs(call, copy);
    update_stmt(call);
    if (after)
      gsi_insert_on_edge(after, store);
    else
      gsi_insert_after(&at, store, GSI_NEW_STMT);
  }

  static gimple* assignment(tree to, tree from, gcall* call) {
    gimple* const statement = gimple_build_assign(to, from);
    gimple_set_location(statement, gimple_location(call));
    return statement;
  }
};

}  // namespace

int plugin_init(plugin_name_args* arguments, plugin_gcc_version* version) {
  if (!plugin_default_version_check(version, &gcc_version)) return 1;
  register_pass_info pass = {new Pass, "tsan", 1, PASS_POS_INSERT_BEFORE};
  register_callback(arguments->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &pass);
  return 0;
}
