"""What records contain: one module per kind, each a pure function of seed, sequence number and time.

So a record can be made again wherever it is needed: by the producer, by the embedded trace source,
and by whoever checks a sink.
"""

from headgate.workloads.records.keys import KEYS, Keys, key_bytes, parse_keys
from headgate.workloads.records.kind import RecordKind
from headgate.workloads.records.kinds import RECORD_KINDS, parse_records
from headgate.workloads.records.schedule import arrival_times_us, event_times_ms, start_us

__all__ = [
    "KEYS",
    "RECORD_KINDS",
    "Keys",
    "RecordKind",
    "arrival_times_us",
    "event_times_ms",
    "key_bytes",
    "parse_keys",
    "parse_records",
    "start_us",
]
