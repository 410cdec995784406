// expects 4: not_cuda.cu:3:3: error: .*missing
int main() {
  missing();
}
