  // Two comparisons, and which of less, equal and more each relation allows.
  const bool less = index < condition.value, more = index > condition.value;
  const Relation asked = condition.relation;
  if (asked == Relation::kEqual) return !less && !more;
  if (asked == Relation::kNotEqual) return less || more;
  if (asked == Relation::kLess) return less;
  if (asked == Relation::kLessEqual) return !more;
  if (asked == Relation::kMore) return more;
  if (asked == Relation::kMoreEqual) return !less;
