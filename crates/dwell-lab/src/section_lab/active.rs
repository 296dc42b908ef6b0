//! What is active on the path: pings, and a transfer by HTTP. Client's side is the programs that paper 003 names or
//! their like; the server is ours.

use super::SectionAsking;
use crate::error::LabError;
use dwell_core::Nanos;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the server listens at.
pub(super) const PORT: u16 = 8003;

/// What it serves: the paper's file is larger than 10 KB.
const PAGE: [u8; 12_000] = [b'.'; 12_000];

/// How often an idle server looks whether it shall stop, in milliseconds.
const PATIENCE: u8 = 20;

/// The longest that anybody waits for the other end.
const LONGEST: Duration = Duration::from_secs(30);

pub(super) fn listen(address: IpAddr) -> Result<TcpListener, LabError> {
    TcpListener::bind(SocketAddr::new(address, PORT)).map_err(LabError::system("open the server's port"))
}

/// Answers one client after the other until told to stop.
pub(super) fn serve(listener: &TcpListener, stop: &AtomicBool) -> Result<(), LabError> {
    while !stop.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        if poll(&mut waiting, PollTimeout::from(PATIENCE)).map_err(LabError::system("wait for a client"))? > 0
        {
            let (client, _) = listener.accept().map_err(LabError::system("accept a client"))?;
            // A client that leaves early has seen what is wrong.
            let _ = answer(client);
        }
    }
    Ok(())
}

fn answer(mut client: TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(LONGEST))?;
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while !request.ends_with(b"\r\n\r\n") {
        match client.read(&mut part)? {
            0 => return Ok(()),
            length => request.extend_from_slice(&part[..length]),
        }
    }
    write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", PAGE.len())?;
    client.write_all(&PAGE)
}

/// Gets the page by a connection of its own, from within the client's namespace.
pub(super) fn transfer(server: IpAddr) -> Result<(), LabError> {
    let url = format!("http://{}/", SocketAddr::new(server, PORT));
    let longest = LONGEST.as_secs().to_string();
    let said = run(
        "curl",
        "curl",
        &[
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--max-time",
            &longest,
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code} %{size_download}",
            &url,
        ],
    )?;
    if said == format!("200 {}", PAGE.len()) {
        Ok(())
    } else {
        Err(LabError::Unexpected { command: "curl", said })
    }
}

/// The mean of pings to `to`, from within the namespace of who asks. All must be answered.
pub(super) fn ping(to: IpAddr, asking: SectionAsking) -> Result<Nanos, LabError> {
    let (count, interval) = (asking.pings.to_string(), asking.interval.as_secs_f64().to_string());
    let said = run("ping", "iputils-ping", &["-n", "-q", "-c", &count, "-i", &interval, &to.to_string()])?;
    mean(&said, &count).ok_or(LabError::Unexpected { command: "ping", said })
}

/// The mean by the last line: `rtt min/avg/max/mdev = 0.021/0.034/0.052/0.011 ms`.
fn mean(said: &str, count: &str) -> Option<Nanos> {
    said.lines().find(|line| line.contains(&format!(" {count} received")))?;
    let figures = said.lines().last()?.strip_prefix("rtt min/avg/max/mdev = ")?;
    let mean: f64 = figures.split('/').nth(1)?.parse().ok()?;
    Some(Nanos::from_f64(mean * 1e6))
}

/// What a program says that ended well.
fn run(command: &'static str, package: &'static str, arguments: &[&str]) -> Result<String, LabError> {
    let output = Command::new(command).env("LC_ALL", "C").args(arguments).output().map_err(|error| {
        match error.kind() {
            io::ErrorKind::NotFound => LabError::MissingCommand { command, package },
            _ => LabError::system(format!("run `{command}`"))(error),
        }
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(LabError::Unexpected { command, said: text(&[output.stderr, output.stdout].concat()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_read_where_all_were_answered() {
        let said = "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n\n--- 10.0.0.1 ping statistics ---\n\
                    10 packets transmitted, 10 received, 0% packet loss, time 205ms\n\
                    rtt min/avg/max/mdev = 100.021/100.534/101.052/0.011 ms";
        assert_eq!(mean(said, "10"), Some(Nanos(100_534_000)));
        assert_eq!(mean(said, "11"), None);
        assert_eq!(mean("", "10"), None);
    }
}
