"""The app file: what ``headgate run`` starts, as TOML, validated before anything happens.

Every mistake is reported with its key and a remedy. Paths are relative to the file. Nothing here
starts anything; ``wiring`` does.
"""

from headgate.config.app import AppFile
from headgate.config.consumers import ConsumersTable
from headgate.config.flow import OperatorTable, SinkTable, StreamTable, upstream_first
from headgate.config.kafka import KafkaTable, ProducerTable, TopicTable
from headgate.config.reading import load_app, parse_app
from headgate.config.table import Seconds
from headgate.config.tables import ClusterTable, ControllerTable, PipelineTable

__all__ = [
    "AppFile",
    "ClusterTable",
    "ConsumersTable",
    "ControllerTable",
    "KafkaTable",
    "OperatorTable",
    "PipelineTable",
    "ProducerTable",
    "Seconds",
    "SinkTable",
    "StreamTable",
    "TopicTable",
    "load_app",
    "parse_app",
    "upstream_first",
]
