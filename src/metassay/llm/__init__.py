"""Ask language models: prompts, stored answers, servers, and models on this machine."""
