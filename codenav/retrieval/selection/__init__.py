"""The choice among many tools by services: reranking, rewriting of requests, and the rankers made of them."""
