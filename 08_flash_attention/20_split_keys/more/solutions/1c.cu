  // One exponential: the side with the larger m keeps its sums, the other's are scaled to it.
  const bool larger = one.m >= other.m;
  const float least = larger ? other.m : one.m, most = larger ? one.m : other.m;
  const float scale = least == kNothing ? 0.0f : exp2f(least - most);
  const float keep = larger ? 1.0f : scale, add = larger ? scale : 1.0f;
  one.m = most;
  one.l *= keep, one.acc.x *= keep, one.acc.y *= keep, one.acc.z *= keep, one.acc.w *= keep;
  one.l += add * other.l;
  one.acc.x += add * other.acc.x;
  one.acc.y += add * other.acc.y;
  one.acc.z += add * other.acc.z;
  one.acc.w += add * other.acc.w;
