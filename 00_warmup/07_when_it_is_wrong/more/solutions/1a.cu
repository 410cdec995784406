  // A switch.
  switch (condition.relation) {
    case Relation::kAny:
      return true;
    case Relation::kEqual:
      return condition.value == index;
    case Relation::kNotEqual:
      return condition.value != index;
    case Relation::kLess:
      return condition.value > index;
    case Relation::kLessEqual:
      return condition.value >= index;
    case Relation::kMore:
      return condition.value < index;
    case Relation::kMoreEqual:
      return condition.value <= index;
  }
