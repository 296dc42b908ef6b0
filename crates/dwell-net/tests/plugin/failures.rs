//! Each way in which a tool can fail: a clear reason, in its time, and nothing left behind.

use crate::run;
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// A tool whose client is this script of the shell.
fn client(script: &str) -> String {
    format!(
        "name = 'x'\nabout = 'x'\ntime_limit_seconds = 1\n[client]\nat = 'source'\n\
         command = ['sh', '-c', '''{script}''']\n\
         [value]\nquantity = 'throughput'\nregex = 'rate=(?<value>\\S+) (?<unit>\\S+)'\n"
    )
}

fn fails(description: &str) -> String {
    run(description).unwrap_err().to_string()
}

#[test]
fn a_figure_is_read() {
    let told = run(&client("echo rate=9 Mb/s; echo rate=12.5 Mbps")).unwrap();
    assert_eq!((told.reading.value, told.reading.range), (12.5e6, None));
    assert!(told.ended > told.began);
}

#[test]
fn a_program_that_is_not_there_is_named_with_where_to_get_it() {
    let text = client("").replace("'sh'", "'no-such-tool-7'").replace("about", "package = 'p7'\nabout");
    assert_eq!(fails(&text), "client `no-such-tool-7` is not installed: install the package `p7`");
}

#[test]
fn a_hang_is_ended_with_all_that_it_started() {
    let mark = format!("7{}", std::process::id());
    let began = Instant::now();
    // The grandchild holds the output open, and ignores what is polite.
    let error = fails(&client(&format!("trap '' TERM HUP; echo connecting; sleep {mark} & sleep {mark}")));
    assert!(error.contains("did not end within 1s and was killed; its last words: connecting"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(8));
    assert!(!sleeps(&mark), "a child outlived its group");
}

#[test]
fn a_daemon_is_ended_with_who_started_it() {
    let mark = format!("9{}", std::process::id());
    let told = run(&client(&format!("setsid sleep {mark} & sleep 0.2; echo rate=12 Mb/s")));
    assert_eq!(told.unwrap().reading.value, 12e6);
    assert!(!sleeps(&mark), "a daemon outlived who started it");
}

/// Whether somebody sleeps for just so long.
fn sleeps(mark: &str) -> bool {
    let line = |pid: std::fs::DirEntry| std::fs::read(pid.path().join("cmdline")).unwrap_or_default();
    let wanted = format!("sleep\0{mark}\0").into_bytes();
    std::fs::read_dir("/proc").unwrap().flatten().any(|pid| line(pid) == wanted)
}

#[test]
fn garbage_is_no_figure() {
    let error = fails(&client("printf 'Segmentation f\\033[1mault\\n\\377\\376'"));
    assert!(error.contains("nothing that it printed matches") && !error.contains('\u{1b}'), "{error}");
    assert!(fails(&client("true")).contains("it said nothing"));
    assert!(fails(&client("echo rate=12,5 Mb/s")).contains("`12,5`, which is no number"));
    assert!(fails(&client("echo rate=12 furlongs")).contains("its unit is `furlongs`"));
    // Bytes are no bits.
    assert!(fails(&client("echo rate=12 MB/s")).contains("its unit is `MB/s`"));
    for odd in ["nan", "inf", "-3", "1e999"] {
        assert!(fails(&client(&format!("echo rate={odd} Mb/s"))).contains("which no rate can be"), "{odd}");
    }
}

#[test]
fn a_failure_of_its_own_is_told_with_its_words() {
    let error = fails(&client("echo rate=12 Mb/s; echo 'cannot resolve host' >&2; exit 3"));
    assert_eq!(error, "client `sh` ended by exit status 3; its last words: cannot resolve host");
    assert!(fails(&client("kill -SEGV $$")).contains("ended by signal 11"));
}

#[test]
fn who_prints_without_end_is_stopped() {
    let began = Instant::now();
    let error = fails(&client("yes rate=12 Mb/s").replace("seconds = 1\n", "seconds = 60\n"));
    assert!(error.contains("printed more than") && began.elapsed() < Duration::from_secs(30), "{error}");
}

#[test]
fn a_server_that_prints_without_end_is_stopped() {
    let began = Instant::now();
    let text = with_server("sleep 0.6; yes rate=9 Mb/s").replace("port = 9\n", "");
    // Its client would go on for long, and then print a figure.
    let text = text
        .replace("echo rate=12 Mb/s", "sleep 3; echo rate=12 Mb/s")
        .replace("_seconds = 1\n", "_seconds = 9\n");
    let error = fails(&text);
    assert!(error.starts_with("server `sh` printed more than"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(30));
}

fn with_server(script: &str) -> String {
    let server =
        format!("port = 9\n[server]\nat = 'destination'\ncommand = ['sh', '-c', '''{script}''']\n[client]");
    client("echo rate=12 Mb/s").replace("[client]", &server)
}

#[test]
fn a_server_that_dies_is_told_before_anything_is_measured() {
    let error = fails(&with_server("echo address in use >&2; exit 1").replace("port = 9", "port = 1"));
    assert!(error.starts_with("server `sh` was not ready") && error.ends_with("address in use"), "{error}");
    let text = with_server("true").replace("'sh', '-c', '''true'''", "'no-such-tool-7'");
    assert!(fails(&text).starts_with("server `no-such-tool-7` is not installed"));
}

#[test]
fn a_server_without_a_port_is_ended_with_its_client() {
    let mark = format!("8{}", std::process::id());
    let text = with_server(&format!("echo rate=7 Mb/s; sleep {mark}")).replace("port = 9\n", "");
    assert_eq!(run(&text).unwrap().reading.value, 12e6);
    assert!(!sleeps(&mark));
    // And where it is the server that prints, its figure counts.
    let text = text.replace("[value]\n", "[value]\nprinted_by = 'server'\n");
    assert_eq!(run(&text).unwrap().reading.value, 7e6);
    assert!(!sleeps(&mark));
}

#[test]
fn both_ends_share_a_folder_that_is_gone_afterwards() {
    let text = with_server("echo rate=42 Mb/s > found; pwd >> found; sleep 60").replace("port = 9\n", "");
    let text = text.replace("echo rate=12 Mb/s", "cat found; echo done > /dev/null");
    assert_eq!(run(&text).unwrap().reading.value, 42e6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever a tool prints, it is a figure or a reason.
    #[test]
    fn no_text_is_too_odd(said in "[ -~\\n]{0,60}") {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &said).unwrap();
        let text = client(&format!("echo rate=; cat {}", file.path().display()));
        if let Ok(told) = run(&text) {
            prop_assert!(told.reading.value.is_finite() && told.reading.value >= 0.0);
        }
    }
}
