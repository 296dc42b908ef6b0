//! Every kind of mistake in a scenario file: the error names file, line and key, and says what is allowed.

use dwell_sim::{Scenario, ScenarioError};
use proptest::prelude::*;
use std::path::Path;

/// Parses a scenario with `text` appended to a good beginning of three lines.
#[track_caller]
fn refused(text: &str, line: usize, key: &str, says: &str) {
    refused_whole(&format!("name = \"x\"\n[[links]]\nrate = \"100 Mb/s\"\n{text}"), line, key, says);
}

#[track_caller]
fn refused_whole(text: &str, expected_line: usize, expected_key: &str, says: &str) {
    let error = Scenario::parse("some.toml", text).expect_err("must be refused");
    let message = error.to_string();
    let ScenarioError::Wrong { file, line, key, problem } = error else { panic!("{message}") };
    assert_eq!((file.as_str(), line, key.as_str()), ("some.toml", expected_line, expected_key), "{message}");
    assert!(problem.contains(says), "{message} does not say {says}");
    assert!(message.starts_with(&format!("some.toml:{line}: {key}")), "{message}");
}

#[test]
fn text_that_is_no_toml() {
    refused_whole("name = \"x\"\nlinks = [\n", 2, "", "not TOML: unclosed array");
    refused_whole("name = x\n", 1, "", "must be quoted");
    refused_whole("name = \"x\"\nname = \"y\"\n", 2, "", "duplicate key (at `name`)");
    refused("rate = \"1 Gb/s\"", 4, "", "duplicate key");
    refused_whole("name = \"x\"\n\u{0}", 2, "", "not TOML");
}

#[test]
fn missing_keys() {
    refused_whole("", 1, "", "missing field `name`");
    refused_whole("name = \"x\"\n", 1, "", "missing field `links`");
    refused_whole("name = \"x\"\n\n[[links]]\nloss = 0.1\n", 3, "links[0]", "missing field `rate`");
    refused(
        "jitter = { normal = { mean = \"3 us\" } }",
        4,
        "links[0].jitter.normal",
        "missing field `deviation`",
    );
    refused("[[links.cross]]\nload = 0.3", 4, "links[0].cross[0]", "missing field `kind`");
    refused("[source.clock]\nstep = { at = \"1 s\" }", 5, "source.clock.step", "missing field `by`");
}

#[test]
fn unknown_keys_and_words() {
    refused("colour = \"red\"", 4, "links[0].colour", "expected one of `rate`, `propagation`");
    refused("[destination]\nwakeup = \"3 us\"", 5, "destination.wakeup", "`wake_up`");
    refused("[source.clock]\nskew = 3", 5, "source.clock.skew", "`skew_ppm`");
    refused(
        "[[links.cross]]\nkind = \"poisson\"\nload = 0.1\nspeed = 1",
        7,
        "links[0].cross[0].speed",
        "`hops`",
    );
    refused(
        "[[links.cross]]\nkind = \"bursty\"\nload = 0.1",
        5,
        "links[0].cross[0].kind",
        "one of `constant`, `poisson`, `pareto`, `capture`",
    );
    refused("framing = \"token-ring\"", 4, "links[0].framing", "`ethernet` or `none`");
    refused("jitter = { gamma = {} }", 4, "links[0].jitter.gamma", "`uniform`, `normal`");
    refused("[lab]\ncarrier = \"pigeon\"", 5, "lab.carrier", "`emulated`, `tbf`, `htb`");
    refused("[[link]]\nrate = \"1 Gb/s\"", 4, "link", "`links`");
}

#[test]
fn wrong_kinds_of_value() {
    refused_whole("name = 3\n", 1, "name", "expected a string");
    refused_whole("name = \"x\"\nlinks = 3\n", 2, "links", "expected a sequence");
    refused("propagation = true", 4, "links[0].propagation", "a time in ns, us, ms or s");
    refused("jitter = [\"1 us\"]", 4, "links[0].jitter", "or a distribution such as");
    refused("[source]\nkernel_stamps = \"yes\"", 5, "source.kernel_stamps", "expected a boolean");
}

#[test]
fn missing_and_wrong_units() {
    refused("propagation = 5", 4, "links[0].propagation", "5 has no unit");
    refused("propagation = \"5\"", 4, "links[0].propagation", "\"5\" has no unit");
    refused(
        "propagation = \"5 parsec\"",
        4,
        "links[0].propagation",
        "unknown unit \"parsec\"; expected a time",
    );
    refused("propagation = \"us\"", 4, "links[0].propagation", "does not start with a number");
    refused("propagation = \"1.2.3 us\"", 4, "links[0].propagation", "does not start with a number");
    refused("queue = \"many\"", 4, "links[0].queue", "\"100 packets\" or \"unlimited\"");
    refused("queue = \"-3 packets\"", 4, "links[0].queue", "is no queue limit");
    refused("loss = \"a bit\"", 4, "links[0].loss", "a share such as 0.3 or \"30 %\"");
    refused_whole("name = \"x\"\n[[links]]\nrate = 100\n", 3, "links[0].rate", "or \"unshaped\"");
    refused_whole("name = \"x\"\n[[links]]\nrate = \"12 MB/s\"\n", 3, "links[0].rate", "is in bytes");
    refused_whole("name = \"x\"\nmtu = \"1500 bits\"\nlinks = []\n", 2, "mtu", "a size in B");
}

#[test]
fn figures_out_of_range() {
    refused_whole("name = \" \"\nlinks = []\n", 1, "name", "is empty");
    refused_whole("name = \"x\"\nlinks = []\n", 2, "links", "a path has 1 to 64");
    refused_whole("name = \"x\"\n[[links]]\nrate = \"0 Mb/s\"\n", 3, "links[0].rate", "1 kb/s to 1000 Gb/s");
    refused("propagation = \"-1 us\"", 4, "links[0].propagation", "no less than 0");
    refused("propagation = \"400 s\"\n[[links]]\nrate = \"1e9 s\"", 6, "links[1].rate", "unknown unit");
    refused("propagation = \"99999999 s\"", 4, "links[0].propagation", "at most 11 days");
    refused("loss = 1.5", 4, "links[0].loss", "more than 1");
    refused("loss = -0.1", 4, "links[0].loss", "is not a share");
    refused("loss = nan", 4, "links[0].loss", "is not a share");
    refused(
        "queue = \"100 B\"",
        4,
        "links[0].queue",
        "does not hold one packet of the largest size (1526 B)",
    );
    refused(
        "[source]\nkernel_stamp_at = 2",
        5,
        "source.kernel_stamp_at",
        "0 (start of the kernel stage) to 1",
    );
    refused("[source]\nkernel_stamp_at = nan", 5, "source.kernel_stamp_at", "out of range");
    refused("[source.clock]\nresolution = \"0 ns\"", 5, "source.clock.resolution", "1 ns to 1 ms");
    refused("[destination.clock]\nskew_ppm = 1e6", 5, "destination.clock.skew_ppm", "-10000 to 10000");
    refused_whole("name = \"x\"\nmtu = \"20 B\"\n[[links]]\nrate = \"1 Gb/s\"\n", 2, "mtu", "68 to 65535");
}

#[test]
fn distributions_that_are_none() {
    refused(
        "jitter = { uniform = { low = \"3 us\", high = \"1 us\" } }",
        4,
        "links[0].jitter",
        "low (3 us) is above",
    );
    refused(
        "jitter = { lognormal = { median = \"3 us\", spread = -1.0 } }",
        4,
        "links[0].jitter",
        "between 0 and 5",
    );
    refused("jitter = { mixture = [] }", 4, "links[0].jitter", "at least one mode");
    let weights = "jitter = { mixture = [ { weight = 1, of = \"1 us\" },\n { weight = 0, of = \"3 us\" } ] }";
    refused(weights, 4, "links[0].jitter", "weight is 0; it must be above 0");
    let negative =
        "jitter = { mixture = [ { weight = 1, of = \"1 us\" },\n { weight = 1, of = \"-3 us\" } ] }";
    refused(negative, 5, "links[0].jitter.mixture[1].of", "no less than 0");
}

#[test]
fn cross_traffic_that_cannot_be() {
    let cross = |rest: &str| format!("[[links.cross]]\nkind = \"poisson\"\n{rest}");
    refused(&cross("size = \"100 B\""), 4, "links[0].cross[0]", "either `load` or `rate`");
    refused(&cross("load = 0.1\nrate = \"1 Mb/s\""), 4, "links[0].cross[0]", "and not both");
    refused(&cross("load = 0.1\nhops = 2"), 7, "links[0].cross[0].hops", "from this link on, 1 to 1");
    refused(&cross("load = 0.1\nhops = 0"), 7, "links[0].cross[0].hops", "out of range");
    refused(&cross("load = 0.1\nsize = \"0 B\""), 7, "links[0].cross[0].size", "1 to 65561 B");
    refused(&cross("load = 20"), 2, "links[0]", "asks for 2000.0 % of this link; a link carries 100 %");
    refused(&cross("load = \"100.1 %\""), 2, "links[0]", "asks for 100.1 % of this link");
    let unshaped = "[[links]]\nrate = \"unshaped\"\n[[links.cross]]\nkind = \"constant\"\nload = 0.1";
    refused(unshaped, 8, "links[1].cross[0].load", "give `rate` instead");
    let full = "queue = \"unlimited\"\n[[links.cross]]\nkind = \"poisson\"\nload = \"100 %\"";
    refused(full, 2, "links[0]", "an unlimited queue needs less than 100 %");
    // Two links, and the flow that enters at the first overloads the second.
    let further = "[[links.cross]]\nkind = \"poisson\"\nload = 0.5\nhops = 2\n[[links]]\nrate = \"10 Mb/s\"\nqueue = \"unlimited\"";
    refused(further, 8, "links[1]", "asks for 500.0 %");
}

#[test]
fn bursts_that_cannot_be() {
    let pareto =
        |inner: &str, rest: &str| format!("[[links.cross]]\nkind = {{ pareto = {{ {inner} }} }}\n{rest}");
    let good = "shape = 1.5, on = \"10 ms\", peak = \"80 Mb/s\"";
    let at = |key: &str| format!("links[0].cross[0].kind.pareto{key}");
    let said = |inner: &str, key: &str, says: &str| refused(&pareto(inner, "load = 0.3"), 5, &at(key), says);
    said(&good.replace("1.5", "1"), ".shape", "1 is out of range: above 1 and below 2");
    said(&good.replace("1.5", "2.0"), ".shape", "above 1 and below 2");
    said(&good.replace("1.5", "nan"), ".shape", "above 1 and below 2");
    said(&good.replace("10 ms", "0 ms"), ".on", "0 ns is out of range: 1 us to 1 h");
    said(&good.replace("10 ms", "-1 ms"), ".on", "no less than 0");
    said(&good.replace("10 ms", "100 us"), ".on", "shorter than a packet takes at the peak rate, 153.8 us");
    said(&good.replace("80 Mb/s", "30 Mb/s"), ".peak", "30 Mb/s is no more than the mean of 30.000 Mb/s");
    said(&good.replace("80 Mb/s", "0 Mb/s"), ".peak", "1 kb/s to 1000 Gb/s");
    said(&good.replace(", peak = \"80 Mb/s\"", ""), "", "missing field `peak`");
    said(&format!("{good}, mean = 3"), ".mean", "unknown field `mean`");
    refused(&pareto(good, ""), 4, "links[0].cross[0]", "either `off` or one of `load` and `rate`");
    let with_off = format!("{good}, off = \"5 ms\"");
    refused(&pareto(&with_off, "load = 0.3"), 4, "links[0].cross[0]", "and not both");
    refused(&pareto(&good.replace("1.5, on", "1.5, off = \"0 s\", on"), ""), 5, &at(".off"), "1 us to 1 h");
    // Bursts count as their mean: 80 Mb/s for two thirds of the time, and twice of that.
    let two = pareto(&with_off, "").repeat(2);
    refused(&two, 2, "links[0]", "cross traffic asks for 106.7 % of this link");
}

#[test]
fn mixes_that_cannot_be() {
    let mix = |sizes: &str| format!("[[links.cross]]\nkind = \"poisson\"\nload = 0.1\nsizes = {sizes}");
    let at = "links[0].cross[0].sizes";
    refused(&mix("[]"), 7, at, "a mix needs at least one size");
    let second = |second: &str| mix(&format!("[ {{ size = \"78 B\", weight = 1 }},\n {second} ]"));
    let key = |last: &str| format!("{at}[1]{last}");
    refused(&second("{ size = \"0 B\", weight = 1 }"), 8, &key(".size"), "1 to 65561 B");
    refused(&second("{ size = \"80 B\", weight = 0 }"), 8, &key(".weight"), "is 0; it must be above 0");
    refused(&second("{ size = \"80 B\", weight = -1.5 }"), 8, &key(".weight"), "is -1.5; it must be above 0");
    refused(&second("{ size = \"80 B\", weight = inf }"), 8, &key(".weight"), "must be above 0");
    refused(&second("{ size = 80, weight = 1 }"), 8, &key(".size"), "80 has no unit");
    refused(&second("{ size = \"80 B\" }"), 8, &key(""), "missing field `weight`");
    refused(&second("{ size = \"80 B\", weight = 1, share = 1 }"), 8, &key(".share"), "unknown field");
    let both = "[[links.cross]]\nkind = \"constant\"\nload = 0.1\nsize = \"80 B\"\nsizes = []";
    refused(both, 4, "links[0].cross[0]", "either `size` or `sizes`");
}

#[test]
fn captures_that_cannot_be() {
    let capture = |inner: &str| format!("[[links.cross]]\nkind = {{ capture = {{ {inner} }} }}");
    let at = |key: &str| format!("links[0].cross[0].kind.capture{key}");
    refused(&capture(""), 5, &at(""), "missing field `file`");
    refused(&capture("file = 3"), 5, &at(".file"), "expected a string");
    refused(&capture("file = \"no/such.pcap\""), 5, &at(".file"), "no/such.pcap cannot be read");
    refused(&capture("file = \"/dev/zero\""), 5, &at(".file"), "/dev/zero is not a file");
    refused(&capture("file = \"x.pcap\", loop = true"), 5, &at(".loop"), "unknown field `loop`");
}

#[test]
fn links_that_cannot_be() {
    refused("duplication = 1.5", 4, "links[0].duplication", "more than 1, which is 100 %");
    refused("duplication = -1", 4, "links[0].duplication", "is not a share");
    refused("reordering = { share = 2, by = \"1 us\" }", 4, "links[0].reordering.share", "more than 1");
    refused("reordering = { share = 0.1 }", 4, "links[0].reordering", "missing field `by`");
    refused("reordering = { share = 0.1, by = \"-1 us\" }", 4, "links[0].reordering.by", "no less than 0");
    refused("mtu = \"67 B\"", 4, "links[0].mtu", "68 to 65535 B");
    refused("mtu = \"1 MB\"", 4, "links[0].mtu", "68 to 65535 B");
    let large = "mtu = \"600 B\"\n[[links.cross]]\nkind = \"poisson\"\nload = 0.1";
    refused(large, 5, "links[0].cross[0]", "larger than the 626 B");
    refused("discipline = \"lifo\"", 4, "links[0].discipline", "`fifo`, `fair`, `priority`");
    refused("discipline = { priority = { probes = 8 } }", 4, "links[0].discipline.priority.probes", "0 to 7");
    refused("discipline = { priority = { probes = -1 } }", 4, "links[0].discipline.priority.probes", "u8");
    refused(
        "discipline = { priority = { we = 1 } }",
        4,
        "links[0].discipline.priority.we",
        "available keys: probes",
    );
    let classed = "[[links.cross]]\nkind = \"poisson\"\nload = 0.1\npriority = 9";
    refused(classed, 7, "links[0].cross[0].priority", "9 is out of range: 0 to 7");
    let starved = "discipline = { priority = {} }\n[[links.cross]]\nkind = \"poisson\"\nload = 1.0";
    refused(starved, 2, "links[0]", "the lowest class never has its turn");
}

#[test]
fn token_buckets_that_cannot_be() {
    let shaper = |rest: &str| format!("shaper = {{ rate = \"10 Mb/s\", burst = \"3 kB\"{rest} }}");
    refused("shaper = { rate = \"1 Mb/s\" }", 4, "links[0].shaper", "missing field `burst`");
    refused(&shaper(", peak = \"9 Mb/s\""), 4, "links[0].shaper.peak", "is below the rate of 10");
    refused(&shaper(", depth = 1"), 4, "links[0].shaper.depth", "`rate`, `burst`, `peak`");
    let zero = "shaper = { rate = \"0 b/s\", burst = \"3 kB\" }";
    refused(zero, 4, "links[0].shaper.rate", "1 kb/s to 1000 Gb/s");
    let short = "shaper = { rate = \"1 Mb/s\", burst = \"1525 B\" }";
    refused(short, 4, "links[0].shaper.burst", "less than one packet of the largest size (1526 B)");
    let short = "policer = { rate = \"1 Mb/s\", burst = \"1525 B\" }";
    refused(short, 4, "links[0].policer.burst", "less than one packet of the largest size (1526 B)");
    let asked = format!("{}\n[[links.cross]]\nkind = \"poisson\"\nload = 0.2", shaper(""));
    refused(&asked, 2, "links[0]", "asks for 200.0 % of this link");
}

#[test]
fn parallel_links_that_cannot_be() {
    let bundle = |rest: &str| {
        format!(
            "name = \"x\"\n[[links]]\nrate = \"unshaped\"\n[[links]]\n{rest}\n[[links]]\nrate = \"1 Gb/s\"\n"
        )
    };
    let one = "{ rate = \"1 Gb/s\" }";
    refused_whole(&bundle("parallel = []"), 5, "links[1].parallel", "give at least one link");
    refused_whole(&bundle("parallel = 3"), 5, "links[1].parallel", "expected a sequence");
    refused_whole(&bundle("parallel = [ 3 ]"), 5, "links[1].parallel[0]", "a link such as");
    refused_whole(&bundle("parallel = [ {} ]"), 5, "links[1].parallel[0]", "missing field `rate`");
    refused_whole(&bundle("balance = \"flow\""), 4, "links[1]", "missing field `rate`");
    let random = format!("parallel = [ {one} ]\nbalance = \"random\"");
    refused_whole(&bundle(&random), 6, "links[1].balance", "`flow` or `packet`");
    let lonely = "rate = \"1 Gb/s\"\nbalance = \"packet\"";
    refused_whole(&bundle(lonely), 6, "links[1].balance", "give `parallel` links");
    let more = format!("parallel = [ {one} ]\nloss = 0.1");
    refused_whole(&bundle(&more), 4, "links[1]", "give them to its parallel links");
    let nested = format!("parallel = [ {{ parallel = [ {one} ] }} ]");
    refused_whole(&bundle(&nested), 5, "links[1].parallel[0].parallel", "cannot themselves");
    let inner = "parallel = [ { rate = \"1 Gb/s\", mtu = \"9 B\" } ]";
    refused_whole(&bundle(inner), 5, "links[1].parallel[0].mtu", "68 to 65535");
    let far =
        "parallel = [ { rate = \"1 Gb/s\", cross = [ { kind = \"poisson\", load = 0.1, hops = 2 } ] } ]";
    refused_whole(&bundle(far), 5, "links[1].parallel[0].cross[0].hops", "1 to 1");
    let first = format!("name = \"x\"\n[[links]]\nparallel = [ {one} ]\n[[links]]\nrate = \"1 Gb/s\"\n");
    refused_whole(&first, 3, "links[0].parallel", "a host hangs on one link");
    let last = format!("name = \"x\"\n[[links]]\nrate = \"1 Gb/s\"\n[[links]]\nparallel = [ {one} ]\n");
    refused_whole(&last, 5, "links[1].parallel", "a host hangs on one link");
}

#[test]
fn flows_that_parallel_links_do_not_carry() {
    // A flow of 800 Mb/s before two links of 500 Mb/s: packet by packet it fits, and as one flow it does not.
    let text = |balance: &str, queue: &str, each: &str, flows: usize| {
        let cross =
            format!("[[links.cross]]\nkind = \"poisson\"\nrate = \"{each}\"\nhops = 3\n").repeat(flows);
        let member = format!("{{ rate = \"500 Mb/s\", queue = \"{queue}\" }}");
        format!(
            "name = \"x\"\n[[links]]\nrate = \"10 Gb/s\"\n{cross}[[links]]\nbalance = \"{balance}\"\n\
             parallel = [ {member}, {member} ]\n[[links]]\nrate = \"1 Gb/s\"\n"
        )
    };
    Scenario::parse("fits", &text("packet", "unlimited", "800 Mb/s", 1)).unwrap();
    refused_whole(&text("flow", "10 packets", "800 Mb/s", 1), 10, "links[1].parallel[0]", "asks for 160.0 %");
    // Two flows of 400 Mb/s may fall on one link by chance: that loses packets, and an unlimited queue grows.
    Scenario::parse("fits", &text("flow", "10 packets", "400 Mb/s", 2)).unwrap();
    let unlucky = text("flow", "unlimited", "400 Mb/s", 2);
    refused_whole(&unlucky, 14, "links[1].parallel[0]", "an unlimited queue needs less");
}

#[test]
fn the_way_back_is_checked_too() {
    refused("[[reverse]]\nrate = \"1 Gb/s\"\nloss = 3", 6, "reverse[0].loss", "more than 1");
    refused_whole(
        "name = \"x\"\nreverse = []\n[[links]]\nrate = \"1 Gb/s\"\n",
        2,
        "reverse",
        "a path has 1 to 64",
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::load(Path::new("no/such/file.toml")).unwrap_err();
    assert!(matches!(error, ScenarioError::Unreadable { .. }));
    assert!(error.to_string().starts_with("no/such/file.toml: cannot read the scenario"), "{error}");
}

#[test]
fn units_are_read_forgivingly_and_exactly() {
    let text = "name = \"x\"\n[[links]]\nrate = \"2.5gbit/s\"\npropagation = \" 1_000.5us\"\nloss = \"2 %\"\n\
                queue = \"1 packet\"\n[[links]]\nrate = \"Unshaped\"\npropagation = 0\nqueue = \"1.5 KiB\"\n\
                [source.clock]\noffset = \"-1.000000001 s\"\n";
    let scenario = Scenario::parse("x", text).unwrap();
    let [shaped, unshaped] = scenario.links.as_slice() else { panic!("two links") };
    assert_eq!(shaped.rate.unwrap().0, 2_500_000_000);
    assert_eq!(shaped.propagation.0, 1_000_500);
    assert_eq!(shaped.loss, 0.02);
    assert_eq!((unshaped.rate, unshaped.propagation.0), (None, 0));
    assert_eq!(scenario.source.clock.offset.0, -1_000_000_001);
}

const GOOD: &str = include_str!("../../../scenarios/wan-8-hops.toml");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "(?s).{0,200}") {
        let _ = Scenario::parse("any", &text);
    }

    #[test]
    fn no_damage_makes_the_parser_panic(from in 0..GOOD.len(), length in 0..40usize, by in "(?s).{0,10}") {
        let from = (0..=from).rev().find(|at| GOOD.is_char_boundary(*at)).unwrap();
        let to = (from + length..).find(|at| *at >= GOOD.len() || GOOD.is_char_boundary(*at)).unwrap();
        let text = format!("{}{by}{}", &GOOD[..from], &GOOD[to.min(GOOD.len())..]);
        if let Err(ScenarioError::Wrong { line, .. }) = Scenario::parse("damaged", &text) {
            prop_assert!(line <= text.lines().count() + 1, "line {line} of {}", text.lines().count());
        }
    }

    #[test]
    fn no_value_makes_the_parser_panic(
        key in "(rate|propagation|queue|framing|loss|jitter|cross)",
        value in "(\"[-0-9a-zA-Z%µ/ ._]{0,20}\"|-?[0-9]{1,25}|-?[0-9]{1,5}\\.[0-9]{1,5}|nan|inf|\\[\\]|\\{\\}|true)",
    ) {
        let _ = Scenario::parse("any", &format!("name = \"x\"\n[[links]]\n{key} = {value}\n"));
        let _ = Scenario::parse("any", &format!("name = \"x\"\n[[links]]\nrate = \"1 Gb/s\"\n{key} = {value}\n"));
    }

    #[test]
    fn whatever_reads_writes_back(
        value in "(\"[0-9]{1,7}(\\.[0-9]{1,4})? ?(ns|us|ms|s)\")",
        rate in "\"[1-9][0-9]{0,5}(\\.[0-9]{1,4})? ?[kM]b/s\"",
    ) {
        let text = format!("name = \"x\"\n[[links]]\nrate = {rate}\npropagation = {value}\njitter = {value}\n");
        if let Ok(scenario) = Scenario::parse("any", &text) {
            prop_assert_eq!(Scenario::parse("again", &scenario.to_toml()).unwrap(), scenario);
        }
    }
}
