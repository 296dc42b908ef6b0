//! What the documentation points to is there: pages, headings, scenarios.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A page as far as others point to it, and it to others.
#[derive(Default)]
struct Page {
    /// The names of its headings, as readers of Markdown make them.
    anchors: BTreeSet<String>,
    /// What it points to, as it stands there.
    links: Vec<String>,
    /// What it tells the reader to type, or names as code.
    code: Vec<String>,
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut page = Self::default();
        let (mut heading, mut is_code) = (None::<String>, false);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.anchors.extend(heading.take().as_deref().map(anchor)),
                Event::Start(Tag::CodeBlock(_)) => is_code = true,
                Event::End(TagEnd::CodeBlock) => is_code = false,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Text(text) | Event::Code(text) if heading.is_some() => {
                    heading.as_mut().expect("looked at above").push_str(&text);
                }
                Event::Code(text) => page.code.push(text.into_string()),
                Event::Text(text) if is_code => page.code.extend(text.lines().map(String::from)),
                _ => {}
            }
        }
        page
    }
}

/// What a heading is called in a link: small letters, what is neither letter nor digit left out, spaces as hyphens.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Every page below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true => pages(&path),
        false if path.extension().is_some_and(|extension| extension == "md") => vec![path],
        false => Vec::new(),
    };
    entries.flat_map(of).collect()
}

/// What the pages of the documentation name, each with the page that does; `of` says what one does.
fn named(of: impl Fn(Page) -> Vec<String>) -> Vec<(PathBuf, String)> {
    let root = Path::new(ROOT).canonicalize().unwrap();
    let mut all = pages(&root.join("docs"));
    all.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    assert!(all.len() > 50, "{all:?}");
    all.iter().flat_map(|path| of(Page::read(path)).into_iter().map(|name| (path.clone(), name))).collect()
}

/// What is wrong with a link of a page, if anything is.
fn broken(from: &Path, link: &str) -> Option<String> {
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { from.to_path_buf() } else { from.parent()?.join(file) };
    let told = || format!("{} points to {link}", from.display());
    if !target.exists() {
        return Some(told());
    }
    let anchor = anchor?;
    (!Page::read(&target).anchors.contains(anchor)).then(told)
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = named(|page| page.links);
    links.retain(|(_, link)| !link.contains("://"));
    assert!(links.len() > 100, "{links:?}");
    let wrong: Vec<_> = links.iter().filter_map(|(path, link)| broken(path, link)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let book = Path::new(ROOT).canonicalize().unwrap().join("docs/book/src");
    let summary = book.join("SUMMARY.md");
    let listed: BTreeSet<_> = Page::read(&summary).links.iter().map(|link| book.join(link)).collect();
    let there: BTreeSet<_> = pages(&book).into_iter().filter(|path| *path != summary).collect();
    assert_eq!(listed, there);
}

/// `dwell eval scenarios/eval/avail-lab.toml --runs 20` is of no use where no such file is.
#[test]
fn every_scenario_that_is_named_is_there() {
    let of = |page: Page| {
        let words = page.code.iter().flat_map(|line| line.split_whitespace());
        words
            .filter(|word| word.starts_with("scenarios/") && word.ends_with(".toml"))
            .map(String::from)
            .collect()
    };
    let scenarios = named(of);
    assert!(scenarios.len() > 10, "{scenarios:?}");
    let wrong: Vec<_> = scenarios.iter().filter(|(_, name)| !Path::new(ROOT).join(name).exists()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
