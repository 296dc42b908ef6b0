//! Where the observer is in a PID namespace, as in a container, threads have that one's numbers.

use crate::filter::two_ports;
use crate::{loopback, observer, told};
use dwell_core::inside::{Process, Way};
use dwell_net::inside::Watching;
use nix::unistd::gettid;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio, id};
use std::time::Duration;

/// Set for the process in a namespace of its own: the port of its parent.
const PORT: &str = "DWELL_TEST_PORT";

/// The same test in a PID namespace of its own; `None` where there can be none, which is then said.
fn within(test: &str, port: u16) -> Option<Child> {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child"]).stdout(Stdio::piped());
        command
    };
    if !unshare().arg("true").status().is_ok_and(|status| status.success()) {
        eprintln!("left out: no PID namespace can be made here");
        return None;
    }
    let mut command = unshare();
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture"]).env(PORT, port.to_string());
    Some(command.spawn().expect("a process"))
}

/// The port, in a process that was started by the test.
fn asked() -> Option<u16> {
    std::env::var(PORT).ok().map(|port| port.parse().expect("a port"))
}

#[test]
fn a_process_is_asked_for_and_told_by_the_numbers_of_its_namespace() {
    let ours = || Watching { pid: Some(id()), ..Watching::default() };
    if asked().is_none() {
        if observer(&ours()).is_none() {
            return;
        }
        let test = "namespace::a_process_is_asked_for_and_told_by_the_numbers_of_its_namespace";
        let Some(child) = within(test, 0) else { return };
        let output = child.wait_with_output().expect("its end");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    // The first process of its namespace: by the machine's numbers it is another.
    assert_eq!(id(), 1);
    let (journeys, _) = two_ports(|_| ours()).expect("as its parent had");
    assert_eq!(journeys.len(), 20);
    let process = |of: Option<&Process>| of.map(|process| (process.pid, process.tid, process.outside));
    for journey in &journeys {
        assert_eq!(process(journey.process.as_ref()), Some((1, gettid().as_raw() as u32, false)));
    }
    assert_eq!(two_ports(|_| Watching { pid: Some(2), ..Watching::default() }).expect("as before").0, []);
}

#[test]
fn who_is_in_no_namespace_of_the_observer_has_the_numbers_of_the_machine() {
    if let Some(port) = asked() {
        let watching = Watching { ports: vec![port], ways: vec![Way::Receive], ..Watching::default() };
        let mut observer = observer(&watching).expect("as its parent had");
        println!("\nobserves");
        let (mut journeys, mut waited) = (Vec::new(), 0);
        while journeys.is_empty() && waited < 100 {
            journeys = told(&mut observer).0;
            waited += 1;
        }
        for reader in journeys.iter().filter_map(|journey| journey.process.as_ref()) {
            println!("\nreader {} {} {}", reader.pid, reader.tid, reader.outside);
        }
        return;
    }
    if observer(&Watching::default()).is_none() {
        return;
    }
    let receiver = UdpSocket::bind(loopback()[0]).expect("a socket");
    receiver.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket that can be set");
    let address = receiver.local_addr().expect("its address");
    let test = "namespace::who_is_in_no_namespace_of_the_observer_has_the_numbers_of_the_machine";
    let Some(mut child) = within(test, address.port()) else { return };
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "observes"));
    let sender = UdpSocket::bind(loopback()[0]).expect("a socket");
    for _ in 0..5 {
        sender.send_to(&[7; 33], address).expect("sent");
        assert_eq!(receiver.recv(&mut [0; 64]).ok(), Some(33));
    }
    let told: Vec<String> = lines.filter_map(|line| Some(line.strip_prefix("reader ")?.to_owned())).collect();
    assert!(child.wait().expect("its end").success(), "{told:?}");
    assert!(!told.is_empty());
    for reader in told {
        // Where this process is in a namespace itself, it does not know what the machine calls it.
        let machine = std::fs::read_link("/proc/self/ns/pid").expect("a namespace");
        if machine.as_os_str() == "pid:[4026531836]" {
            assert_eq!(reader, format!("{} {} true", id(), gettid()));
        }
        assert!(reader.ends_with(" true"), "{reader}");
    }
}
