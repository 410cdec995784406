    // Unit by unit.
    for (int unit = threadIdx.x; unit < C::kKeys * Rows::kUnits; unit += C::kThreads) {
      const int row = unit / Rows::kUnits, column = unit % Rows::kUnits * Rows::kUnit;
      const std::size_t zeros = key + row < visible.most ? 0 : 16;
      const Element* const from = x + k_offset + (key + row) * stride_k + column;
      __pipeline_memcpy_async(to.at(row, column), from, 16, zeros);
    }
