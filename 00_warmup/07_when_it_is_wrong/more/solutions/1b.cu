  // By the inverted conditions.
  const Relation relation = condition.relation;
  const unsigned value = condition.value;
  if (relation == Relation::kEqual && index != value) return false;
  if (relation == Relation::kNotEqual && index == value) return false;
  if (relation == Relation::kLess && index >= value) return false;
  if (relation == Relation::kLessEqual && index > value) return false;
  if (relation == Relation::kMore && index <= value) return false;
  if (relation == Relation::kMoreEqual && index < value) return false;
