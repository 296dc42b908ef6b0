//! The outputs beside JSON: each holds what JSON says.

use crate::frames::{Frame, START, established, exchange, some, write};
use crate::{dwell, folder, lines, text};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::collections::HashMap;
use std::fs::File;

#[test]
fn csv_has_a_line_of_names_and_empty_cells_for_what_is_not_known() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let output = dwell(here.path(), &["watch", "a.pcap", "--csv", "a.csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut reader = csv::Reader::from_path(here.path().join("a.csv")).expect("a table");
    let names = reader.headers().expect("names").clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("lines");
    let of = |port: &str, name: &str| {
        let [at, key] = ["client_port", name].map(|key| names.iter().position(|one| one == key).expect(key));
        rows.iter().find(|row| &row[at] == port).expect("told")[key].to_owned()
    };
    assert_eq!(
        (of("1000", "server_half_ns"), of("1000", "client_half_ns")),
        ("10000001".into(), "5000000".into())
    );
    assert_eq!((of("1000", "rtt_ns"), of("1000", "quality")), ("15000001".into(), "exact".into()));
    assert_eq!((of("1002", "rtt_ns"), of("1002", "isn_server")), (String::new(), String::new()));
    let endings = ["1000", "1001", "1002"].map(|port| of(port, "ending"));
    assert_eq!(endings, ["established", "refused", "unfinished"]);
}

#[test]
fn csv_has_its_line_of_names_where_nothing_follows() {
    let here = folder();
    write(&here.path().join("none.pcap"), &[]);
    write(&here.path().join("a.pcap"), &some());
    for file in ["none", "a"] {
        let output = dwell(
            here.path(),
            &["watch", &format!("{file}.pcap"), "--continuous", "--csv", &format!("{file}.csv")],
        );
        assert_eq!(output.status.success(), file == "a", "{}", text(&output.stderr));
    }
    let read = |file: &str| std::fs::read_to_string(here.path().join(file)).expect("a file");
    let names = read("none.csv");
    assert!(names.starts_with("probe,client,") && names.lines().count() == 1, "{names}");
    assert!(read("a.csv").starts_with(&names));
    assert!(read("none.round-trips.csv").starts_with("probe,to,to_port,"));
}

#[test]
fn parquet_has_the_same_with_nulls() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let output = dwell(here.path(), &["watch", "a.pcap", "--parquet", "a.parquet", "--probe", "edge"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let reader = SerializedFileReader::new(File::open(here.path().join("a.parquet")).expect("a file"));
    let reader = reader.expect("Parquet");
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 3);
    let port = |row: &parquet::record::Row| row.get_ushort(2).expect("a port");
    let row = |wanted: u16| rows.iter().find(|row| port(row) == wanted).expect("told");
    let whole = row(1_000);
    assert_eq!(whole.get_string(0).expect("a name"), "edge");
    assert_eq!(whole.get_string(1).expect("an address"), "10.0.0.1");
    assert_eq!(whole.get_long(7).expect("a time"), i64::from(START) * 1_000_000_000);
    assert_eq!(
        [8, 9, 10].map(|place| whole.get_long(place).expect("a span")),
        [10_000_001, 5_000_000, 15_000_001]
    );
    assert_eq!(whole.get_string(11).expect("a quality"), "exact");
    assert_eq!(whole.get_string(13).expect("an ending"), "established");
    assert!(row(1_002).get_long(8).is_err(), "null is no number");
}

#[test]
fn both_candidates_of_what_is_one_of_two_are_in_every_output() {
    let here = folder();
    // The SYN is repeated, and the answer may be to either.
    let mut frames = established(1_000, 200_000_000);
    frames.insert(0, Frame { at: 0, ..frames[0].clone() });
    write(&here.path().join("a.pcap"), &frames);
    let asked = ["watch", "a.pcap", "--json", "--csv", "a.csv", "--parquet", "a.parquet"];
    let told = lines(&dwell(here.path(), &asked));
    let mut reader = csv::Reader::from_path(here.path().join("a.csv")).expect("a table");
    let names = reader.headers().expect("names").clone();
    let row = reader.records().next().expect("a line").expect("text");
    let file = File::open(here.path().join("a.parquet")).expect("a file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let columns = reader.get_row_iter(None).expect("rows").next().expect("one").expect("a row");
    let columns: HashMap<&String, String> =
        columns.get_column_iter().map(|(name, field)| (name, field.to_string())).collect();
    for span in ["server_half", "client_half", "rtt"] {
        for which in [0, 1] {
            let name = format!("{span}_candidate_{}_ns", which + 1);
            let value = &told[0][format!("{span}_candidates_ns")][which];
            assert!(value.is_i64() || span == "client_half", "{told:?}");
            let cell = &row[names.iter().position(|one| one == name).expect("a column")];
            assert_eq!(cell, if value.is_null() { String::new() } else { value.to_string() }, "{name}");
            assert_eq!(columns[&name], value.to_string(), "{name}");
        }
    }
}

#[test]
fn round_trips_throughout_are_in_files_of_their_own_beside() {
    let here = folder();
    write(&here.path().join("a.pcap"), &[some(), exchange(1_000, 300_000_000, 0, 14)].concat());
    let asked = ["watch", "a.pcap", "--json", "--continuous", "--csv", "a.csv", "--parquet", "a.parquet"];
    let output = dwell(here.path(), &asked);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = lines(&output);
    let told: Vec<_> = told.iter().filter(|line| line["kind"] == "round-trips").collect();
    assert!(told.len() >= 3, "{told:?}");
    let mut reader = csv::Reader::from_path(here.path().join("a.round-trips.csv")).expect("a table");
    let names = reader.headers().expect("names").clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("lines");
    assert_eq!(rows.len(), told.len());
    let file = File::open(here.path().join("a.round-trips.parquet")).expect("a file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let columns: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(columns.len(), told.len());
    // `null` is an empty cell, and all else is what JSON says.
    let said = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for ((line, row), columns) in told.iter().zip(&rows).zip(&columns) {
        // A field is shown as JSON has it.
        let columns: HashMap<&String, String> =
            columns.get_column_iter().map(|(name, field)| (name, field.to_string())).collect();
        assert_eq!(names.len() + 1, line.as_object().expect("an object").len(), "{names:?}");
        for (name, cell) in names.iter().zip(row) {
            assert_eq!(cell, said(&line[name]), "{name} of {line}");
            assert_eq!(columns[&name.to_owned()], line[name].to_string(), "{name} of {line}");
        }
    }
    // Without it there are none.
    let output = dwell(here.path(), &["watch", "a.pcap", "--csv", "b.csv"]);
    assert!(output.status.success() && !here.path().join("b.round-trips.csv").exists());
}
