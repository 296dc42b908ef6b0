//! Pages as a browser shows them: headless Chromium lays them out, and a script that only the test adds tells what is seen.
//! Left out, and said so, where Chromium is not installed, or shows not even an empty page.

use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Tells in the title, in signs that no serialisation changes, what is where: whether the page is wider than the window; of each
/// drawing its size, the texts that are not wholly inside it, and pairs of texts that lie on each other; table cells of more than
/// one line.
const LOOK: &str = r"<script>
const near = 1.5;
const box = of => of.getBoundingClientRect();
const drawings = [...document.querySelectorAll('svg')].map(svg => {
    const frame = box(svg);
    const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim());
    const inside = b => b.left >= frame.left - near && b.right <= frame.right + near
        && b.top >= frame.top - near && b.bottom <= frame.bottom + near;
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 * near
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2 * near;
    const on = [];
    texts.forEach((one, at) => texts.slice(at + 1).forEach(other => {
        if (meet(box(one), box(other))) on.push(one.textContent.trim() + ' | ' + other.textContent.trim());
    }));
    return { width: frame.width, height: frame.height, texts: texts.length,
        outside: texts.filter(text => !inside(box(text))).map(text => text.textContent.trim()), on };
});
const lines = cell => { const range = document.createRange(); range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].map(line => Math.round(line.top))).size; };
const broken = [...document.querySelectorAll('td')].filter(cell => lines(cell) > 1).map(cell => cell.textContent);
const seen = { heading: document.querySelector('h1').textContent,
    too_wide: document.documentElement.scrollWidth > window.innerWidth,
    rows: document.querySelectorAll('tr').length, broken, drawings };
document.title = JSON.stringify(seen).replace(/[<>&\u0080-\uffff]/g,
    sign => '\\u' + sign.charCodeAt(0).toString(16).padStart(4, '0'));
</script>";

#[derive(Debug, Deserialize)]
struct Seen {
    heading: String,
    too_wide: bool,
    rows: usize,
    broken: Vec<String>,
    drawings: Vec<Drawing>,
}

#[derive(Debug, Deserialize)]
struct Drawing {
    width: f64,
    height: f64,
    texts: usize,
    outside: Vec<String>,
    on: Vec<String>,
}

/// A page in a window of 1,440 by 900, as Chromium has it once it is loaded.
fn dom(folder: &Path, address: &str) -> Output {
    Command::new("timeout")
        .args(["60", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(["--window-size=1440,900", "--dump-dom", address])
        .env("HOME", folder)
        .output()
        .expect("coreutils")
}

/// What a page looks like; `None` without a browser.
fn shown(folder: &Path, page: &str) -> Option<Seen> {
    let nothing = dom(folder, "about:blank");
    if !String::from_utf8_lossy(&nothing.stdout).contains("<body>") {
        eprintln!("skipped: chromium does not run here: {}", String::from_utf8_lossy(&nothing.stderr));
        return None;
    }
    let written = fs::read_to_string(folder.join(page)).expect("a page");
    let (before, after) = written.split_once("</body>").expect("a body");
    fs::write(folder.join("looked-at.html"), format!("{before}{LOOK}</body>{after}")).expect("written");
    let output = dom(folder, &format!("file://{}", folder.join("looked-at.html").display()));
    let dom = String::from_utf8_lossy(&output.stdout);
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let Some((told, _)) = title else {
        panic!("{page}: no page was shown: {}", String::from_utf8_lossy(&output.stderr))
    };
    Some(serde_json::from_str(told).unwrap_or_else(|error| panic!("{page}: {error}: {told}")))
}

/// Runs the command, whose files go into the folder.
fn dwell(folder: &Path, arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .expect("dwell runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn assert_readable(seen: &Seen, page: &str) {
    assert!(!seen.too_wide, "{page} is wider than the window");
    assert_eq!(seen.broken, Vec::<String>::new(), "{page} breaks what is in its tables");
    for drawing in &seen.drawings {
        assert!(drawing.width > 600.0 && drawing.height > 60.0 && drawing.texts > 3, "{page}: {drawing:?}");
        assert_eq!(drawing.outside, Vec::<String>::new(), "{page} cuts what is written");
        assert_eq!(drawing.on, Vec::<String>::new(), "{page} writes one thing on another");
    }
}

const PATH: &str = "name = 'lan'\n[[links]]\nrate = '1 Gb/s'\npropagation = '100 us'\n\
    [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\n[[links.cross]]\nkind = 'poisson'\nload = 0.5\nsize = '800 B'\n\
    [[links]]\nrate = '1 Gb/s'\n";

#[test]
fn what_each_verb_draws_is_readable() {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join("lan.toml"), PATH).expect("written");
    dwell(
        here.path(),
        &["generate", "capture", "--connections", "300", "--probes", "2", "--out", "seen.pcap"],
    );
    let simulated = [
        vec!["path"],
        vec!["path", "--agentless"],
        vec!["ppt"],
        vec!["delay"],
        vec!["capacity"],
        vec!["avail"],
    ];
    let simulated = simulated.map(|verb| [&verb[..], &["lan.toml", "--on", "sim"]].concat());
    let others = [
        vec!["plan", "--links", "1 Gb/s,100 Mb/s,1 Gb/s"],
        vec!["watch", "seen-1.pcap"],
        vec!["sections", "near=seen-1.pcap", "far=seen-2.pcap"],
    ];
    for (number, arguments) in simulated.into_iter().chain(others).enumerate() {
        let page = format!("{number}-{}.html", arguments[0]);
        dwell(here.path(), &[&arguments[..], &["--plot", &page]].concat());
        let Some(seen) = shown(here.path(), &page) else { return };
        assert!(seen.heading.len() > 10 && seen.drawings.len() == 1, "{page}: {seen:?}");
        assert_readable(&seen, &page);
    }
}

#[test]
fn the_judge_s_page_is_readable() {
    let here = tempfile::tempdir().expect("a folder");
    let grid = "description = 'small'\nworld = 'sim'\nruns = 2\n[[block]]\nname = 'loads'\nbase = 'lan.toml'\n\
        bandwidth = { methods = ['busy-trains', 'pathload', 'spruce', 'igi'] }\n\
        [block.axis]\n'links.1.cross.0.load' = [0.2, 0.5, 0.8]\n\
        [[block]]\nname = 'again'\nbase = 'lan.toml'\nbandwidth = { methods = ['busy-trains'], continuous = 8 }\n";
    for (name, text) in [("lan.toml", PATH), ("grid.toml", grid)] {
        fs::write(here.path().join(name), text).expect("written");
    }
    dwell(here.path(), &["eval", "grid.toml", "--html", "page.html"]);
    let Some(seen) = shown(here.path(), "page.html") else { return };
    assert!(seen.rows > 20 && seen.drawings.len() >= 5, "{seen:?}");
    assert_readable(&seen, "page.html");
}
