"""A real Apache Kafka on the loopback address, for development and tests."""

from headgate.kafka.broker.layout import SaslUser
from headgate.kafka.broker.local import LocalBroker
from headgate.kafka.broker.remembered import BrokerStatus, down, status, up

__all__ = ["BrokerStatus", "LocalBroker", "SaslUser", "down", "status", "up"]
