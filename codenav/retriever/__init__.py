"""The retriever that is trained on requests and what answered them: static vectors of words, with numpy alone."""
