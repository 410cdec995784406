// expects 6: check: the program ended with exit 3
__global__ void nothing() {}

int main() {
  nothing<<<1, 1>>>();
  return 3;
}
