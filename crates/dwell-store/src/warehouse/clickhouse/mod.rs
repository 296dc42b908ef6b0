//! ClickHouse, over HTTP: one server, or a cluster in which a connection's key says on which shard it is.
//!
//! A batch that reached some shards only is sent again, and what is there twice counts once: the tables replace, and no
//! statement minds a double that is not replaced yet.

mod at;
mod schema;
mod wire;

pub use at::{At, Credentials};

use super::join::{Asked, EACH, Row, See};
use super::parts::{self, Work};
use super::row::{self, ENDS};
use super::{Account, Batch, Day, FORMAT, Span, Store, WarehouseError};
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection;
use schema::{BATCHES, HANDSHAKES};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use wire::{Rows, Wire};

/// A join is asked for in so many parts. The tables are in the order of the key, so that each reads its own rows; and
/// what a server joins at once stays in the processor's cache.
const PARTS: u64 = 16;

/// Parts that are asked for at once: the servers join, while rows of others are on their way.
const WORKERS: usize = 4;

/// A probe's newest record is looked for so far before a span first.
const LATE: Nanos = Nanos::from_secs(3_600);

/// A warehouse on ClickHouse.
#[derive(Debug)]
pub struct ClickHouse {
    wire: Wire,
}

impl ClickHouse {
    /// On these servers, with our tables, which are made where they are not there.
    ///
    /// # Errors
    /// When a server cannot be had, or holds tables of another version.
    pub fn create(at: At, credentials: Credentials) -> Result<Self, WarehouseError> {
        let wire = Wire::new(at, credentials);
        wire.hosts().try_for_each(|host| schema::make(&wire, host))?;
        Self::checked(wire)
    }

    /// On these servers, where our tables are.
    ///
    /// # Errors
    /// When the first server cannot be had, or holds none of our tables, or those of another version.
    pub fn open(at: At, credentials: Credentials) -> Result<Self, WarehouseError> {
        let wire = Wire::new(at, credentials);
        let place = format!("http://{}/{}", wire.first(), wire.at().database);
        let there = format!("EXISTS TABLE {HANDSHAKES} FORMAT RowBinary");
        let mut byte = [0];
        wire.send(wire.first(), "look for our tables", &there, &[])?.fill(&mut byte)?;
        if byte == [0] {
            return Err(WarehouseError::Absent { place });
        }
        Self::checked(wire)
    }

    fn checked(wire: Wire) -> Result<Self, WarehouseError> {
        for host in wire.hosts() {
            let found = schema::format(&wire, host)?;
            if found != FORMAT {
                let place = format!("http://{host}/{}", wire.at().database);
                return Err(WarehouseError::Version { place, found, known: FORMAT });
            }
        }
        Ok(Self { wire })
    }

    fn ask(&self, statement: &str) -> Result<Rows, WarehouseError> {
        self.wire.send(self.wire.first(), "read", &format!("{statement} FORMAT RowBinary"), &[])
    }

    /// Joins part after part, asking the servers in turn.
    fn join_parts(
        &self,
        probes: &[String],
        span: Span,
        slack: Nanos,
        work: &mut Work<'_>,
    ) -> Result<(), WarehouseError> {
        let reach = span.widened(slack);
        while let Some(part) = work.next_part() {
            let (host, which) = (self.wire.host(part), which(part, span));
            let each = |statement: &str, see: &mut See<'_>| self.each(host, statement, probes.len(), see);
            Asked { table: HANDSHAKES, which: &which, probes, reach }.join(&each, work)?;
        }
        Ok(())
    }

    /// Shows the rows of a statement.
    fn each(
        &self,
        host: &str,
        statement: &str,
        probes: usize,
        see: &mut See<'_>,
    ) -> Result<(), WarehouseError> {
        // The key, the length of the ends, the ends, the first instant and the last, the records, some numbers a probe.
        let mut bytes = vec![0; 8 + 1 + ENDS + 8 + 8 + 8 + 8 * EACH * probes];
        let mut columns = vec![[0i64; EACH]; probes];
        let mut rows = self.wire.send(host, "join", &format!("{statement} FORMAT RowBinary"), &[])?;
        while rows.fill(&mut bytes)? {
            match row(&bytes, &mut columns).and_then(|row| see(&row)) {
                Some(ControlFlow::Continue(())) => {}
                Some(ControlFlow::Break(())) => break,
                None => return Err(rows.failed(String::from_utf8_lossy(&bytes).into_owned())),
            }
        }
        Ok(())
    }

    /// When the newest record of each probe begins, of these rows.
    fn newest_of(&self, which: &str) -> Result<BTreeMap<String, Nanos>, WarehouseError> {
        let mut rows =
            self.ask(&format!("SELECT probe, max(first_at) FROM {HANDSHAKES} WHERE {which} GROUP BY probe"))?;
        let mut newest = BTreeMap::new();
        while let Some(probe) = rows.text()? {
            // Each shard tells of its own.
            let at = Nanos(rows.next_number()?);
            newest.entry(probe).and_modify(|newest: &mut Nanos| *newest = at.max(*newest)).or_insert(at);
        }
        Ok(newest)
    }

    fn insert(&self, table: &str, rows: &[u8]) -> Result<(), WarehouseError> {
        let statement = format!("INSERT INTO {table} FORMAT RowBinary");
        self.wire.send(self.wire.first(), "keep the batch", &statement, rows).map(drop)
    }
}

impl Store for ClickHouse {
    fn keep(&mut self, batch: &Batch) -> Result<(), WarehouseError> {
        batch.check()?;
        let day = batch.day();
        let admitted = batch.admitted();
        let mut rows = Vec::with_capacity(160 * admitted.rows.len());
        for row in &admitted.rows {
            put(&mut rows, day, &batch.probe, row);
        }
        if !rows.is_empty() {
            self.insert(HANDSHAKES, &rows)?;
        }
        rows.clear();
        rows.extend_from_slice(&day.0.to_le_bytes());
        put_text(&mut rows, batch.probe.as_bytes());
        rows.extend_from_slice(&batch.epoch.to_le_bytes());
        rows.extend_from_slice(&batch.serial.to_le_bytes());
        rows.extend_from_slice(&admitted.digest.to_le_bytes());
        put_text(&mut rows, admitted.given_up.as_bytes());
        put_text(&mut rows, admitted.dropped.as_bytes());
        // The last, so that what is counted as kept is there.
        self.insert(BATCHES, &rows)
    }

    fn connections(
        &mut self,
        probes: &[String],
        span: Span,
        slack: Nanos,
        take: &mut dyn FnMut(Connection) -> ControlFlow<()>,
    ) -> Result<u64, WarehouseError> {
        probes.iter().try_for_each(|probe| Batch::check_letters(probe))?;
        let work = |work: &mut Work<'_>| self.join_parts(probes, span, slack, work);
        let mut left_out = 0;
        parts::join(PARTS, WORKERS, work, (probes.len(), span), &mut left_out, take).map(|_| left_out)
    }

    fn lone(&mut self, probes: &[String], span: Span) -> Result<u64, WarehouseError> {
        let (days, lone) = (around(span), row::lone(span));
        let of_each = counts(&mut self.ask(&format!(
            "SELECT probe, count(*) FROM (SELECT probe FROM {HANDSHAKES} WHERE {days} AND {lone}) GROUP BY probe"
        ))?)?;
        Ok(probes.iter().filter_map(|probe| of_each.get(probe)).sum())
    }

    fn senders(&mut self, span: Span) -> Result<BTreeMap<Day, BTreeSet<String>>, WarehouseError> {
        let days = around(span);
        let mut rows =
            self.ask(&format!("SELECT DISTINCT probe, toInt64(day) FROM {BATCHES} WHERE {days}"))?;
        let mut senders: BTreeMap<Day, BTreeSet<String>> = BTreeMap::new();
        while let Some(probe) = rows.text()? {
            let number = rows.next_number()?;
            senders.entry(day(&mut rows, number)?).or_default().insert(probe);
        }
        Ok(senders)
    }

    fn newest(&mut self, span: Span) -> Result<BTreeMap<String, Nanos>, WarehouseError> {
        let (senders, days) = (self.probes(span)?, around(span));
        let newest =
            self.newest_of(&format!("{days} AND first_at >= {}", (span.from - LATE).0.max(-i64::MAX)))?;
        // Nearly always that is all of them, and little was read.
        if senders.iter().all(|probe| newest.contains_key(probe)) {
            return Ok(newest);
        }
        self.newest_of(&days)
    }

    fn accounts(&mut self, span: Span) -> Result<BTreeMap<String, Account>, WarehouseError> {
        let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
        let days = around(span);
        let mut rows = self.ask(&format!(
            "SELECT probe, max(given_up), max(dropped) FROM {BATCHES} WHERE {days} GROUP BY day, probe, epoch, serial, digest"
        ))?;
        while let Some(probe) = rows.text()? {
            let account = accounts.entry(probe).or_default();
            let (given_up, dropped) = (rows.next_text()?, rows.next_text()?);
            account.add(&given_up, &dropped).map_err(|error| rows.failed(error.to_string()))?;
        }
        let renumbered = counts(&mut self.ask(&format!(
            "SELECT probe, toInt64(sum(more)) FROM \
                 (SELECT probe, toInt64(uniqExact(digest)) - 1 AS more FROM {BATCHES} WHERE {days} GROUP BY day, probe, epoch, serial) \
             GROUP BY probe"
        ))?)?;
        for (probe, count) in renumbered {
            accounts.entry(probe).or_default().renumbered = count;
        }
        Ok(accounts)
    }

    fn records(&mut self) -> Result<BTreeMap<String, u64>, WarehouseError> {
        counts(&mut self.ask(&format!(
            "SELECT probe, count(*) FROM (SELECT probe FROM {HANDSHAKES} GROUP BY key, probe) GROUP BY probe"
        ))?)
    }

    fn days(&mut self) -> Result<Vec<Day>, WarehouseError> {
        days(&mut self.ask(&format!("SELECT DISTINCT toInt64(day) FROM {BATCHES}"))?)
    }

    fn drop_day(&mut self, day: Day) -> Result<(), WarehouseError> {
        self.wire.hosts().try_for_each(|host| schema::drop_day(&self.wire, host, day))
    }
}

/// A count of each probe, by rows of a name and a count.
fn counts(rows: &mut Rows) -> Result<BTreeMap<String, u64>, WarehouseError> {
    let mut counts = BTreeMap::new();
    while let Some(probe) = rows.text()? {
        let (of_probe, count) = (counts.entry(probe).or_insert(0u64), rows.next_number()?);
        *of_probe = u64::try_from(count)
            .ok()
            .and_then(|count| of_probe.checked_add(count))
            .ok_or_else(|| rows.failed(format!("a count of {count}, which cannot be: ")))?;
    }
    Ok(counts)
}

/// Days in their order, by rows of a number.
fn days(rows: &mut Rows) -> Result<Vec<Day>, WarehouseError> {
    let mut days = Vec::new();
    while let Some(number) = rows.number()? {
        days.push(day(rows, number)?);
    }
    days.sort_unstable();
    days.dedup();
    Ok(days)
}

fn day(rows: &mut Rows, number: i64) -> Result<Day, WarehouseError> {
    i32::try_from(number).map(Day).map_err(|_| rows.failed(format!("day {number}, which cannot be: ")))
}

/// Rows of the days that may hold something of a span.
fn around(span: Span) -> String {
    let (first, last) = Day::around(span);
    format!("day >= {} AND day <= {}", first.0, last.0)
}

/// Rows of a part, of those days.
fn which(part: u64, span: Span) -> String {
    let mut text = format!("{} AND ", around(span));
    // From the least number on, so that no bound is needed where none can be written.
    let bound = |part: u64| (part * (u64::MAX / PARTS + 1)).wrapping_add(1 << 63).cast_signed();
    if part > 0 {
        text += &format!("key >= {} AND ", bound(part));
    }
    if part + 1 < PARTS {
        text += &format!("key < {} AND ", bound(part + 1));
    }
    text
}

/// A row of the join.
fn row<'a>(bytes: &'a [u8], columns: &'a mut [[i64; EACH]]) -> Option<Row<'a>> {
    let (key, bytes) = bytes.split_first_chunk()?;
    let (length, bytes) = bytes.split_first()?;
    if usize::from(*length) != ENDS {
        return None;
    }
    let (ends, bytes) = bytes.split_at_checked(ENDS)?;
    let mut numbers = bytes.chunks_exact(8).map_while(|bytes| bytes.try_into().map(i64::from_le_bytes).ok());
    let (first_at, last_at, records) = (numbers.next()?, numbers.next()?, numbers.next()?);
    columns.iter_mut().flatten().zip(numbers).for_each(|(column, number)| *column = number);
    Some(Row { key: i64::from_le_bytes(*key), ends, first_at, last_at, records, columns })
}

fn put(rows: &mut Vec<u8>, day: Day, probe: &str, row: &row::Row) {
    rows.extend_from_slice(&day.0.to_le_bytes());
    rows.extend_from_slice(&row.key.to_le_bytes());
    rows.extend_from_slice(&row.isn_key.to_le_bytes());
    put_text(rows, probe.as_bytes());
    put_text(rows, &row.ends);
    for number in [row.first_at, row.syn_at, row.marks, row.flags]
        .iter()
        .chain(&row.server)
        .chain(&row.client)
        .chain(&row.total)
    {
        rows.extend_from_slice(&number.to_le_bytes());
    }
    rows.extend_from_slice(&row.syns.to_le_bytes());
    rows.extend_from_slice(&row.syn_acks.to_le_bytes());
}

/// A text with its length before it, in groups of seven bits.
fn put_text(rows: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    while length >= 0x80 {
        rows.push(length as u8 | 0x80);
        length >>= 7;
    }
    rows.push(length as u8);
    rows.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_days_that_cannot_be_are_errors_and_no_figures() {
        let many = b"\x03one\xff\xff\xff\xff\xff\xff\xff\x7f";
        let counted = counts(&mut Rows::said(many)).unwrap();
        assert_eq!(counted["one"], i64::MAX.cast_unsigned());
        let thrice = [many.as_slice(); 3].concat().leak();
        let negative = b"\x03one\xfe\xff\xff\xff\xff\xff\xff\xff";
        for (said, why) in [
            (&*thrice, "cannot be"),
            (negative, "a count of -2"),
            (b"\x03one", "cut off"),
            (b"\x03one\x05", "cut off"),
        ] {
            let error = counts(&mut Rows::said(said)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(days(&mut Rows::said(b"\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0")).unwrap(), [Day(1), Day(2)]);
        let far = days(&mut Rows::said(b"\0\0\0\0\x01\0\0\0")).unwrap_err().to_string();
        assert!(far.contains("day 4294967296"), "{far}");
    }
}
