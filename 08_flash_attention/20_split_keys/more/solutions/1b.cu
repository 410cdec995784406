  // A side without keys has the factor 0 by its own condition; fused multiplications.
  const float m = fmaxf(other.m, one.m);
  const float keep = one.m == kNothing ? 0.0f : exp2f(one.m - m);
  const float add = other.m == kNothing ? 0.0f : exp2f(other.m - m);
  one.acc.w = fmaf(add, other.acc.w, keep * one.acc.w);
  one.acc.z = fmaf(add, other.acc.z, keep * one.acc.z);
  one.acc.y = fmaf(add, other.acc.y, keep * one.acc.y);
  one.acc.x = fmaf(add, other.acc.x, keep * one.acc.x);
  one.l = fmaf(add, other.l, keep * one.l);
  one.m = m;
