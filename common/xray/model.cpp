#include "model.hpp"

#include <stdexcept>

namespace emulator::xray {

const CounterInfo& info(Counter counter) {
  static const CounterInfo infos[kCounters] = {
      {"global_load_requests", "global loads", "requests of a warp",
       "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
      {"global_load_sectors", "global load sectors", "32 bytes each",
       "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
      {"global_load_bytes_asked", "global load bytes asked for", "by all threads", ""},
      {"global_load_bytes_moved", "global load bytes moved", "32 a sector", ""},
      {"global_store_requests", "global stores", "requests of a warp",
       "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
      {"global_store_sectors", "global store sectors", "32 bytes each",
       "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
      {"global_store_bytes_asked", "global store bytes asked for", "by all threads", ""},
      {"global_store_bytes_moved", "global store bytes moved", "32 a sector", ""},
      {"atomics", "atomics", "of single threads", ""},
      {"atomic_requests", "atomic requests", "of a warp",
       "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"},
      {"atomic_sectors", "atomic sectors", "32 bytes each",
       "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"},
      {"atomic_collisions", "atomic collisions", "lanes that meet another's address", ""},
      {"shared_load_requests", "shared loads", "requests of a warp",
       "smsp__inst_executed_op_shared_ld_pred_on_any.sum"},
      {"shared_matrix_load_requests", "shared matrix loads", "requests of a warp",
       "smsp__inst_executed_op_ldsm_pred_on_any.sum"},
      {"shared_load_wavefronts", "shared load wavefronts", "128 bytes at most",
       "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
      {"shared_load_bank_conflicts", "shared load bank conflicts", "wavefronts too many",
       "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"},
      {"shared_store_requests", "shared stores", "requests of a warp",
       "smsp__inst_executed_op_shared_st_pred_on_any.sum"},
      {"shared_store_wavefronts", "shared store wavefronts", "128 bytes at most",
       "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
      {"shared_store_bank_conflicts", "shared store bank conflicts", "wavefronts too many",
       "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"},
      {"shared_atomics", "shared atomics", "of single threads", ""},
      {"shared_bytes", "shared memory", "bytes per block", ""},
      {"barriers", "barriers", "of all blocks", ""},
      {"shuffles", "shuffle instructions", "of all warps", ""},
      {"async_copies", "asynchronous copies", "of single threads", ""},
      {"async_copies_at_once", "copies waited for at once", "of single threads", ""},
      {"async_copies_before_barrier", "copies waited for before the next barrier",
       "of single threads", ""},
      {"bulk_copies", "bulk copies", "of single threads", ""},
      {"bulk_copy_bytes", "bytes of bulk copies", "zeros beyond the edge too", ""},
      {"bulk_stores", "bulk stores", "of single threads", ""},
      {"bulk_store_bytes", "bytes of bulk stores", "nothing beyond the edge", ""},
      {"barrier_waits", "waits at mbarriers", "of single threads", ""},
      {"named_barriers", "named barriers", "instructions of a warp", ""},
      {"product_waits", "waits for products", "of a warp", ""},
      {"product_waits_for_all", "waits for all products", "of a warp", ""},
      {"product_bytes", "shared memory that products read", "bytes", ""},
      {"tensor_operations", "tensor-core operations", "instructions of a warp",
       "smsp__inst_executed_pipe_tensor_op_hmma.sum - "
       "smsp__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum"},
      {"tensor_multiply_adds", "tensor-core multiply-adds", "of all operations", ""},
  };
  return infos[counter];
}

const Buffer& Kernel::buffer(const std::string& wanted) const {
  for (const Buffer& each : buffers) {
    if (each.name == wanted) return each;
  }
  throw std::out_of_range(name + " touches no " + wanted);
}

const char* to_string(Operation operation) {
  constexpr const char* names[] = {"load", "store", "atomic"};
  return names[static_cast<std::size_t>(operation)];
}

const char* to_string(Span::Kind kind) {
  constexpr const char* names[] = {"copy", "store", "product", "wait", "pass"};
  return names[kind];
}

const char* to_string(Space space) {
  return space == Space::kGlobal ? "global" : "shared";
}

}  // namespace emulator::xray
