//! JSON, one object a line.

use super::super::row::Row;
use super::Output;
use anyhow::Result;
use dwell_core::tcp::Handshake;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write as _};

/// Lines on standard output. A reader that went away, such as `head`, is no error.
pub(super) struct Lines {
    probe: String,
    out: BufWriter<Stdout>,
    gone: bool,
}

impl Lines {
    pub(super) fn new(probe: &str) -> Self {
        Self { probe: probe.to_owned(), out: BufWriter::with_capacity(1 << 16, io::stdout()), gone: false }
    }

    fn unless_gone(&mut self, result: io::Result<()>) -> Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            other => Ok(other?),
        }
    }
}

impl Output for Lines {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        if self.gone {
            return Ok(());
        }
        let mut line = serde_json::to_vec(&Row::of(&self.probe, handshake))?;
        line.push(b'\n');
        let result = self.out.write_all(&line);
        self.unless_gone(result)
    }

    fn flush(&mut self) -> Result<()> {
        let result = if self.gone { Ok(()) } else { self.out.flush() };
        self.unless_gone(result)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()
    }
}
