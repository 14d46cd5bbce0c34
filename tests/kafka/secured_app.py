"""A small app of its own process that reads a secured topic: with its password, and with a wrong one.

    python secured_app.py CLIENT_CONFIG TOPIC

The last line of its output is one JSON document.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from headgate.kafka.settings import KafkaSettings
from headgate.wiring.session import close_plain_driver, driver_log, open_session


def count(session: SparkSession, settings: KafkaSettings, topic: str) -> int:
    return session.read.format("kafka").options(**settings.for_spark()).option("subscribe", topic).load().count()


def main(config: Path, topic: str) -> None:
    client = KafkaSettings.read_client_config(config)
    settings = KafkaSettings(client["bootstrap.servers"], client)
    wrong = KafkaSettings(settings.bootstrap, {**client, "sasl.password": "guessed"})
    session = open_session("secured", master="local[1]", conf={"spark.driver.memory": "480m"})
    counted = count(session, settings, topic)
    options = settings.for_spark() | {"subscribe": topic, "startingOffsets": "earliest"}
    stream = session.readStream.format("kafka").options(**options).load()
    query = stream.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    plan = session._jvm.PythonSQLUtils.explainString(stream._jdf.queryExecution(), "extended")
    # An empty batch may follow the one with the records.
    streamed = max((json.loads(each.json) for each in query.recentProgress), key=lambda each: each["numInputRows"])
    try:
        refused = f"let in: {count(session, wrong, topic)}"
    except Exception as error:
        refused = str(error)
    log = driver_log()
    assert log is not None
    shown = {
        "counted": counted,
        "streamed": streamed,
        "plan": plan,
        "refused": refused,
        "settings": dict(session.sparkContext.getConf().getAll()),
        "heap_mb": session._jvm.Runtime.getRuntime().maxMemory() / 2**20,
        "log": log.read_text(),
        "folder": str(log.parent.parent),
    }
    session.stop()
    close_plain_driver()
    sys.stdout.write(json.dumps(shown) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
