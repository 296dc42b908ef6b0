//! Statements to a server, and rows from it.

use super::{At, Credentials};
use crate::warehouse::WarehouseError;
use std::io::{self, BufReader, ErrorKind, Read};
use std::time::Duration;

/// Bits of a text's length: a name, and the reasons of one batch, are far shorter than 256 MiB.
const LENGTH_BITS: usize = 28;

/// What is said of an answer that ends within a row.
const CUT_OFF: &str = "cut off";

/// A server that does not answer a call within this is none.
const CONNECT: Duration = Duration::from_secs(5);

/// One that has not kept data within this has not: it is sent again. Whoever waited on, for a server whose host is gone, would
/// wait for ever, and all probes with it. A probe waits as long.
const KEEPING: Duration = Duration::from_secs(30);

/// One that says nothing for so long while something is awaited of it will not say anything. An answer may take longer than this
/// as a whole, and whoever reads it may take its time.
const SILENCE: Duration = Duration::from_secs(60);

/// Servers, as one is spoken to.
#[derive(Debug)]
pub(super) struct Wire {
    agent: ureq::Agent,
    at: At,
    credentials: Credentials,
    /// How long keeping data may take.
    keeping: Duration,
    /// How long a server may be silent.
    silence: Duration,
}

impl Wire {
    pub(super) fn new(at: At, credentials: Credentials) -> Self {
        Self::patient(at, credentials, KEEPING, SILENCE)
    }

    fn patient(at: At, credentials: Credentials, keeping: Duration, silence: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(silence))
            .timeout_per_write(Some(silence));
        Self { agent: config.build().new_agent(), at, credentials, keeping, silence }
    }

    pub(super) const fn at(&self) -> &At {
        &self.at
    }

    /// Every host.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.at.hosts.iter().map(String::as_str)
    }

    /// The host that is asked.
    pub(super) fn first(&self) -> &str {
        &self.at.hosts[0]
    }

    /// The host whose turn it is.
    pub(super) fn host(&self, turn: u64) -> &str {
        &self.at.hosts[turn as usize % self.at.hosts.len()]
    }

    /// A statement, with data for one that wants it.
    pub(super) fn send(
        &self,
        host: &str,
        doing: &'static str,
        statement: &str,
        data: &[u8],
    ) -> Result<Rows, WarehouseError> {
        let place = format!("http://{host}/{}", self.at.database);
        let failed = |why: String| WarehouseError::Failed { place: place.clone(), doing, why };
        let request = self
            .agent
            .post(format!("http://{host}/"))
            .header("X-ClickHouse-User", &self.credentials.user)
            .header("X-ClickHouse-Key", &self.credentials.password)
            .query("database", &self.at.database)
            // What is acknowledged has reached its shard; and a connection's rows are all on one.
            .query("insert_distributed_sync", "1")
            .query("distributed_group_by_no_merge", "1");
        // A statement without data is the body itself: it may be longer than an address can be.
        let sent = if data.is_empty() {
            request.send(statement.as_bytes())
        } else {
            let request = request.config().timeout_global(Some(self.keeping)).build();
            request.query("query", statement).send(data)
        };
        let response = sent.map_err(|error| failed(why(error, self.silence)))?;
        let status = response.status();
        let mut reader = BufReader::with_capacity(1 << 18, response.into_body().into_reader());
        if status.is_success() {
            return Ok(Rows { reader: Box::new(reader), place, doing, silence: self.silence });
        }
        let mut said = String::new();
        let _ = reader.by_ref().take(2_000).read_to_string(&mut said);
        // "Code: 243" of ClickHouse, and what the system says of a full disk.
        if said.contains("Cannot reserve") || said.contains("No space left on device") {
            return Err(WarehouseError::DiskFull { place });
        }
        Err(failed(format!("{status}: {}", said.trim())))
    }

    /// A statement that answers nothing.
    pub(super) fn tell(
        &self,
        host: &str,
        doing: &'static str,
        statement: &str,
    ) -> Result<(), WarehouseError> {
        self.send(host, doing, statement, &[]).map(drop)
    }
}

/// Why there is no answer.
fn why(error: ureq::Error, silence: Duration) -> String {
    match error {
        ureq::Error::Timeout(ureq::Timeout::PerRead | ureq::Timeout::PerWrite) => format!(
            "it said nothing for {} s; does it hang, or one that it asks? Or is that too much at once?",
            silence.as_secs()
        ),
        error => error.to_string(),
    }
}

/// An answer in the format RowBinary.
pub(super) struct Rows {
    reader: Box<dyn Read + Send>,
    place: String,
    doing: &'static str,
    silence: Duration,
}

impl Rows {
    /// What a server might say.
    #[cfg(test)]
    pub(super) fn said(bytes: &'static [u8]) -> Self {
        Self { reader: Box::new(bytes), place: "here".to_owned(), doing: "read", silence: SILENCE }
    }

    /// Fills `row`; false when there is none left.
    pub(super) fn fill(&mut self, row: &mut [u8]) -> Result<bool, WarehouseError> {
        let mut got = 0;
        while got < row.len() {
            match self.reader.read(&mut row[got..]) {
                Ok(0) if got == 0 => return Ok(false),
                Ok(0) => {
                    return Err(self.failed(format!("{CUT_OFF}: {}", String::from_utf8_lossy(&row[..got]))));
                }
                Ok(more) => got += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(true)
    }

    /// The next text; `None` when no row is left.
    pub(super) fn text(&mut self) -> Result<Option<String>, WarehouseError> {
        let mut length = 0usize;
        let mut byte = [0x80];
        for shift in (0..LENGTH_BITS).step_by(7) {
            if !self.fill(&mut byte)? {
                return if shift == 0 { Ok(None) } else { Err(self.failed(CUT_OFF.to_owned())) };
            }
            length |= usize::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                break;
            }
        }
        if byte[0] >= 0x80 {
            return Err(self.failed("a text that is longer than any of ours: ".to_owned()));
        }
        // Room for what comes, not for what the length claims.
        let mut text = Vec::new();
        if let Err(error) = self.reader.by_ref().take(length as u64).read_to_end(&mut text) {
            return Err(self.broken(error));
        }
        if text.len() < length {
            return Err(self.failed(CUT_OFF.to_owned()));
        }
        String::from_utf8(text).map(Some).map_err(|error| self.failed(error.to_string()))
    }

    /// The next number of 64 bits; `None` when no row is left.
    pub(super) fn number(&mut self) -> Result<Option<i64>, WarehouseError> {
        let mut bytes = [0; 8];
        Ok(self.fill(&mut bytes)?.then(|| i64::from_le_bytes(bytes)))
    }

    /// The text that the row goes on with.
    pub(super) fn next_text(&mut self) -> Result<String, WarehouseError> {
        self.text()?.ok_or_else(|| self.failed(CUT_OFF.to_owned()))
    }

    /// The number that the row goes on with.
    pub(super) fn next_number(&mut self) -> Result<i64, WarehouseError> {
        self.number()?.ok_or_else(|| self.failed(CUT_OFF.to_owned()))
    }

    /// The answer ends here: nothing more can be read.
    fn broken(&self, error: io::Error) -> WarehouseError {
        let why = why(ureq::Error::from(error), self.silence);
        WarehouseError::Failed { place: self.place.clone(), doing: self.doing, why }
    }

    /// What a server said in the middle of an answer stands in its place.
    pub(super) fn failed(&mut self, mut why: String) -> WarehouseError {
        let mut rest = Vec::new();
        let _ = self.reader.by_ref().take(400).read_to_end(&mut rest);
        why += String::from_utf8_lossy(&rest).trim();
        WarehouseError::Failed { place: self.place.clone(), doing: self.doing, why }
    }
}

#[cfg(test)]
mod tests {
    use super::{Credentials, Duration, KEEPING, Rows, SILENCE, Wire};
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    const SHORT: Duration = Duration::from_millis(50);

    fn wire(server: &TcpListener, keeping: Duration, silence: Duration) -> Wire {
        let at = format!("http://{}/x", server.local_addr().unwrap()).parse().unwrap();
        let who = Credentials { user: "a".to_owned(), password: "b".to_owned() };
        Wire::patient(at, who, keeping, silence)
    }

    #[test]
    fn a_server_that_takes_data_and_says_nothing_more_is_not_waited_for() {
        // The kernel takes the call and what is said; nobody answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = wire(&silent, SHORT, SILENCE);
        let error = wire.send(wire.first(), "keep the batch", "INSERT", &[7; 100]).map(drop).unwrap_err();
        assert!(error.to_string().contains("cannot keep the batch: timeout"), "{error}");
    }

    #[test]
    fn nor_is_one_that_is_asked_and_says_nothing_or_nothing_more() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = wire(&silent, KEEPING, SHORT);
        let error = wire.send(wire.first(), "join", "SELECT", &[]).map(drop).unwrap_err();
        assert!(error.to_string().contains("cannot join: it said nothing for"), "{error}");
        // The call before is still in the queue, and answered by nobody.
        let _unheard = silent.accept().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut call = silent.accept().unwrap().0;
                call.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n\x03one").unwrap();
                // It stays open until the other end is gone.
                call.read_to_end(&mut Vec::new()).unwrap();
            });
            let mut rows = wire.send(wire.first(), "read", "SELECT", &[]).unwrap();
            assert_eq!(rows.text().unwrap().as_deref(), Some("one"));
            let error = rows.number().unwrap_err();
            assert!(error.to_string().contains("cannot read: it said nothing for"), "{error}");
        });
    }

    fn text(bytes: &'static [u8]) -> Result<Option<String>, String> {
        Rows::said(bytes).text().map_err(|error| error.to_string())
    }

    #[test]
    fn texts_are_whole_or_none() {
        assert_eq!(text(b"\x03one\x03two"), Ok(Some("one".to_owned())));
        assert_eq!(text(b"\x00"), Ok(Some(String::new())));
        assert_eq!(text(b""), Ok(None));
        for cut in [&b"\x03on"[..], b"\x83", b"\xff\xff\xff\x7fone"] {
            assert!(text(cut).is_err_and(|error| error.contains("cut off")), "{cut:?}");
        }
        // Once it was read as one of 28 bits, and what follows as its letters.
        assert!(text(b"\x80\x80\x80\x80\x01one").is_err_and(|error| error.contains("longer")));
    }
}
