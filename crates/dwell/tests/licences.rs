//! Every crate that is built into the command may be given on: its licence is on the list. Works without a network.

use std::process::Command;

/// Licences that ask for no more than a notice, or, for MPL, for changes to the crate's own files.
const ALLOWED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    // MIT without the duty to name the author.
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression can be met with allowed licences alone. Old crates write `/` for OR.
fn allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let expression = expression.trim();
    match split(expression, " AND ").as_slice() {
        [one] => match split(one, " OR ").as_slice() {
            [one] => match one.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                Some(inner) => allowed(inner),
                None => ALLOWED.contains(one),
            },
            any => any.iter().any(|part| allowed(part)),
        },
        // In SPDX, AND binds more tightly than OR.
        all if split(expression, " OR ").len() == 1 => all.iter().all(|part| allowed(part)),
        _ => split(expression, " OR ").iter().any(|part| allowed(part)),
    }
}

/// Splits where no bracket is open.
fn split<'a>(expression: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in expression.bytes().enumerate() {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        if depth == 0 && expression[at..].starts_with(separator) {
            parts.push(expression[from..at].trim());
            from = at + separator.len();
        }
    }
    parts.push(expression[from..].trim());
    parts
}

#[test]
fn expressions_are_understood() {
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "MIT/Apache-2.0",
        "(MIT OR GPL-2.0) AND Unicode-3.0",
        "GPL-3.0 OR MIT AND ISC",
    ] {
        assert!(allowed(good), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND LGPL-2.1", "GPL-3.0 OR MIT AND AGPL-3.0", ""]
    {
        assert!(!allowed(bad), "{bad}");
    }
}

#[test]
fn every_dependency_may_be_given_on() {
    let host = Command::new(env!("CARGO")).arg("-vV").output().expect("cargo runs");
    let host = String::from_utf8(host.stdout).expect("text");
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host");
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .expect("cargo runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    // Only what the command needs on this platform: the list of packages names those of other platforms too, and the fuzzer's.
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let mut built: Vec<&str> = vec![metadata["resolve"]["root"].as_str().expect("the command itself")];
    let mut next = 0;
    while let Some(&one) = built.get(next) {
        let node = nodes.iter().find(|node| node["id"] == one).expect("a package that is resolved");
        for needed in
            node["dependencies"].as_array().expect("dependencies").iter().filter_map(|id| id.as_str())
        {
            if !built.contains(&needed) {
                built.push(needed);
            }
        }
        next += 1;
    }
    let mut seen = 0;
    for package in metadata["packages"].as_array().expect("packages") {
        if package["id"].as_str().is_some_and(|id| built.contains(&id)) {
            let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or_default());
            assert!(allowed(licence), "{name}: licence `{licence}` is not on the list");
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} packages were looked at");
}
