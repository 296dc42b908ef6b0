//! CSV, with a line of names; one file for each kind of record.

use super::super::row::Row;
use super::super::throughout;
use super::{Output, beside};
use crate::table_file::TableFile;
use anyhow::Result;
use dwell_core::tcp::Handshake;
use dwell_core::tcp::continuous::RoundTrips;
use serde::Serialize;
use std::path::Path;

/// A file of handshakes, and where they are asked for one of round trips.
pub(super) struct Tables {
    probe: String,
    handshakes: TableFile,
    round_trips: Option<TableFile>,
}

/// The columns: those of JSON, with lists spread out.
#[derive(Default, Serialize)]
struct Line<'a> {
    probe: &'a str,
    client: String,
    client_port: u16,
    server: String,
    server_port: u16,
    isn_client: u32,
    isn_server: Option<u32>,
    t_syn_ns: Option<i64>,
    server_half_ns: Option<i64>,
    client_half_ns: Option<i64>,
    rtt_ns: Option<i64>,
    quality: &'static str,
    /// With blanks between them.
    flags: String,
    ending: &'static str,
    t_first_ns: i64,
    syns: u16,
    syn_acks: u16,
    server_half_quality: &'static str,
    client_half_quality: &'static str,
    rtt_quality: &'static str,
    server_half_candidate_1_ns: Option<i64>,
    server_half_candidate_2_ns: Option<i64>,
    client_half_candidate_1_ns: Option<i64>,
    client_half_candidate_2_ns: Option<i64>,
    rtt_candidate_1_ns: Option<i64>,
    rtt_candidate_2_ns: Option<i64>,
}

impl Tables {
    pub(super) fn create(file: &Path, probe: &str, continuous: bool) -> Result<Self> {
        let handshakes = TableFile::create(file, Line::default())?;
        let second = || TableFile::create(&beside(file)?, throughout::Line::NONE);
        let round_trips = continuous.then(second).transpose()?;
        Ok(Self { probe: probe.to_owned(), handshakes, round_trips })
    }
}

impl Output for Tables {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        let row = Row::of(&self.probe, handshake);
        let [server, client, rtt] =
            [row.server_half_candidates_ns, row.client_half_candidates_ns, row.rtt_candidates_ns];
        let flags: Vec<&str> = row.flags.iter().map(dwell_core::tcp::Flag::name).collect();
        self.handshakes.push(Line {
            probe: row.probe,
            client: row.client.to_string(),
            client_port: row.client_port,
            server: row.server.to_string(),
            server_port: row.server_port,
            isn_client: row.isn_client,
            isn_server: row.isn_server,
            t_syn_ns: row.t_syn_ns,
            server_half_ns: row.server_half_ns,
            client_half_ns: row.client_half_ns,
            rtt_ns: row.rtt_ns,
            quality: row.quality.name(),
            flags: flags.join(" "),
            ending: row.ending.name(),
            t_first_ns: row.t_first_ns,
            syns: row.syns,
            syn_acks: row.syn_acks,
            server_half_quality: row.server_half_quality.name(),
            client_half_quality: row.client_half_quality.name(),
            rtt_quality: row.rtt_quality.name(),
            server_half_candidate_1_ns: server.map(|both| both[0]),
            server_half_candidate_2_ns: server.map(|both| both[1]),
            client_half_candidate_1_ns: client.map(|both| both[0]),
            client_half_candidate_2_ns: client.map(|both| both[1]),
            rtt_candidate_1_ns: rtt.map(|both| both[0]),
            rtt_candidate_2_ns: rtt.map(|both| both[1]),
        })
    }

    fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        let line = throughout::Line::of(&self.probe, told);
        self.round_trips.as_mut().map_or(Ok(()), |file| file.push(line))
    }

    fn flush(&mut self) -> Result<()> {
        self.handshakes.flush()?;
        self.round_trips.as_mut().map_or(Ok(()), TableFile::flush)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()
    }
}
