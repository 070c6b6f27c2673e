"""The dense stage: a retriever trained on requests and what answered them. Static vectors, numpy alone."""
