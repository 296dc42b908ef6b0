//! The tables.

use super::wire::Wire;
use crate::warehouse::{Day, FORMAT, NO_DIGESTS, WarehouseError};

/// The records: of one server, its own; of a cluster, those of all its shards.
pub(super) const HANDSHAKES: &str = "dwell_handshakes";

/// What batches were kept, likewise.
pub(super) const BATCHES: &str = "dwell_batches";

/// Which layout the tables have.
const VERSION: &str = "dwell_format";

/// Of a cluster, what one shard holds has this after its name.
const SHARD: &str = "_shard";

/// A table: its name, its columns, by which it is parted, by which it is ordered and replaced, by which it is spread over shards.
const TABLES: [(&str, &str, &str, &str, &str); 2] = [
    (
        HANDSHAKES,
        "day Int32, key Int64, isn_key Int64, probe String, ends String, first_at Int64, syn_at Int64, marks Int64, flags Int64, \
         server_ns Int64, server_or_ns Int64, client_ns Int64, client_or_ns Int64, total_ns Int64, total_or_ns Int64, \
         syns UInt16, syn_acks UInt16",
        // A day, in which the times take part without changing it: of what its partition is made of, the server keeps the least and
        // the most that is in each part of a table, and reads no part that has none of the times that are asked for. So whoever asks
        // for the last minutes reads what came of late, and not the day; of tables that were made before, the day.
        "day + 0 * (first_at < 0)",
        // A record that is sent again replaces itself; another of the same probe and connection does not.
        "key, probe, first_at",
        "key",
    ),
    (
        BATCHES,
        "day Int32, probe String, epoch UInt64, serial UInt64, digest UInt64, given_up String, dropped String",
        "day",
        "probe, epoch, serial, digest",
        "epoch",
    ),
];

const MAKE: &str = "make our tables";

/// Makes what is not there.
pub(super) fn make(wire: &Wire, host: &str) -> Result<(), WarehouseError> {
    let at = wire.at();
    wire.tell(host, MAKE, &format!("CREATE TABLE IF NOT EXISTS {VERSION} (format Int64) ENGINE = TinyLog"))?;
    match format(wire, host)? {
        FORMAT => {}
        0 => bear_ours(wire, host)?,
        NO_DIGESTS => {
            renew(wire, host)?;
            bear_ours(wire, host)?;
        }
        // Nothing is made beside what another version made.
        _ => return Ok(()),
    }
    for (name, columns, parts, order, shard) in TABLES {
        let own = if at.cluster.is_some() { format!("{name}{SHARD}") } else { name.to_owned() };
        wire.tell(
            host,
            MAKE,
            &format!(
                "CREATE TABLE IF NOT EXISTS {own} ({columns}) \
                 ENGINE = ReplacingMergeTree PARTITION BY {parts} ORDER BY ({order}) \
                 SETTINGS index_granularity = 1024"
            ),
        )?;
        if let Some(cluster) = &at.cluster {
            let database = &at.database;
            wire.tell(
                host,
                MAKE,
                &format!(
                    "CREATE TABLE IF NOT EXISTS {name} ({columns}) \
                     ENGINE = Distributed('{cluster}', '{database}', '{own}', {shard})"
                ),
            )?;
        }
    }
    Ok(())
}

/// Says which layout the tables have.
fn bear_ours(wire: &Wire, host: &str) -> Result<(), WarehouseError> {
    let statement = format!("INSERT INTO {VERSION} FORMAT RowBinary");
    wire.send(host, MAKE, &statement, &FORMAT.to_le_bytes()).map(drop)
}

/// Makes the layout before into ours. What a process did that ended meanwhile is not done again.
fn renew(wire: &Wire, host: &str) -> Result<(), WarehouseError> {
    let order = TABLES[1].3;
    let shard = format!("{BATCHES}{SHARD}");
    let tables = match wire.at().cluster {
        Some(_) => vec![(shard.as_str(), true), (BATCHES, false)],
        None => vec![(BATCHES, true)],
    };
    for (table, is_ordered) in tables {
        let there = format!(
            "SELECT toInt64(count()) FROM system.columns \
             WHERE database = currentDatabase() AND table = '{table}' AND name = 'digest' FORMAT RowBinary"
        );
        if wire.send(host, MAKE, &there, &[])?.number()? != Some(0) {
            continue;
        }
        let reorder = if is_ordered { format!(", MODIFY ORDER BY ({order})") } else { String::new() };
        wire.tell(
            host,
            MAKE,
            &format!("ALTER TABLE {table} ADD COLUMN digest UInt64 AFTER serial{reorder}"),
        )?;
    }
    Ok(())
}

/// The layout of a server's tables; 0 while there are none.
pub(super) fn format(wire: &Wire, host: &str) -> Result<i64, WarehouseError> {
    let statement = format!("SELECT max(format) FROM {VERSION} FORMAT RowBinary");
    Ok(wire.send(host, "read the version of our tables", &statement, &[])?.number()?.unwrap_or(0))
}

/// Forgets a day.
pub(super) fn drop_day(wire: &Wire, host: &str, day: Day) -> Result<(), WarehouseError> {
    let shard = if wire.at().cluster.is_some() { SHARD } else { "" };
    // The batches last: while they are there, the day still shows as one to drop.
    for (name, ..) in TABLES {
        wire.tell(host, "drop the day", &format!("ALTER TABLE {name}{shard} DROP PARTITION {}", day.0))?;
    }
    Ok(())
}
