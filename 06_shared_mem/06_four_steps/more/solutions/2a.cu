            // Written out.
            float& element = state[r + i][c];
            sums[0][c] += q4[0][i] * element;
            sums[1][c] += q4[1][i] * element;
            sums[2][c] += q4[2][i] * element;
            sums[3][c] += q4[3][i] * element;
            element = w4[i] * element + k4[0][i] * v4[0][c] + k4[1][i] * v4[1][c] + k4[2][i] * v4[2][c] + k4[3][i] * v4[3][c];
