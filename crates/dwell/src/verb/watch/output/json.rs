//! JSON, one object a line.

use super::super::row::Row;
use super::super::throughout::Line;
use super::Output;
use crate::screen::NO_OUTPUT;
use anyhow::{Context, Result};
use dwell_core::tcp::Handshake;
use dwell_core::tcp::continuous::RoundTrips;
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write as _};

/// Lines on standard output.
pub(super) struct Lines {
    probe: String,
    out: Out,
}

/// What tells a line apart from a handshake's.
#[derive(Serialize)]
struct Kind<'a> {
    kind: &'static str,
    #[serde(flatten)]
    line: Line<'a>,
}

/// Standard output. A reader that went away, such as `head`, is no error.
struct Out {
    buffer: BufWriter<Stdout>,
    gone: bool,
}

impl Lines {
    pub(super) fn new(probe: &str) -> Self {
        let buffer = BufWriter::with_capacity(1 << 16, io::stdout());
        Self { probe: probe.to_owned(), out: Out { buffer, gone: false } }
    }
}

impl Out {
    fn write(&mut self, object: &impl Serialize) -> Result<()> {
        if self.gone {
            return Ok(());
        }
        let mut line = serde_json::to_vec(object)?;
        line.push(b'\n');
        let result = self.buffer.write_all(&line);
        self.unless_gone(result)
    }

    fn flush(&mut self) -> Result<()> {
        let result = if self.gone { Ok(()) } else { self.buffer.flush() };
        self.unless_gone(result)
    }

    fn unless_gone(&mut self, result: io::Result<()>) -> Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            other => other.context(NO_OUTPUT),
        }
    }
}

impl Output for Lines {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        self.out.write(&Row::of(&self.probe, handshake))
    }

    fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        self.out.write(&Kind { kind: "round-trips", line: Line::of(&self.probe, told) })
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }

    fn is_unread(&self) -> bool {
        self.out.gone
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()
    }
}
