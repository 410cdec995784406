  // Rounded by adding a half and cutting off: -least is never negative.
  float scale = 1.0f, zero = kMiddle;
  const float magnitude = fmaxf(most, -least);
  if (magnitude > 0.0f) {
    if (args.symmetric) {
      scale = magnitude / 127.0f;
    } else {
      scale = (most - least) / 255.0f;
      zero = floorf(-least / scale + 0.5f);
    }
  } else if (!args.symmetric) {
    zero = 0.0f;
  }
