"""Real Kafka: a broker for development, topics, offsets, write speeds, and paced producers."""
