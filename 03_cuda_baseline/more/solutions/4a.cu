  blocks = channels / kThreads + (channels % kThreads != 0);
