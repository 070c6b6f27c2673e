"""The dense stage: a retriever trained on requests and what answered them: static vectors of words, with numpy alone."""
