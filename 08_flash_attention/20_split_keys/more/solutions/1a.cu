  // A function for the five sums, and a comparison for the larger m.
  const float most = one.m < other.m ? other.m : one.m;
  const float base = most > kNothing ? most : 0.0f;
  const float mine = exp2f(one.m - base), theirs = exp2f(other.m - base);
  const auto both = [=](float x, float y) { return mine * x + theirs * y; };
  one.l = both(one.l, other.l);
  one.acc = make_float4(both(one.acc.x, other.acc.x), both(one.acc.y, other.acc.y),
                        both(one.acc.z, other.acc.z), both(one.acc.w, other.acc.w));
  one.m = most;
