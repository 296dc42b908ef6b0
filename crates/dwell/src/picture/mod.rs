//! Pictures worth publishing: SVG, or a page around it.

mod axes;
mod bundle;
mod cumulative;
mod decades;
mod delays;
mod echo;
mod follow;
mod gaps;
mod heat;
mod histogram;
mod ink;
mod judged;
mod line;
mod rates;
mod ratios;
mod sizes;
mod strain;
mod waterfall;

pub(crate) use bundle::{Bundle, Strand};
pub(crate) use cumulative::{Cumulative, Curve};
pub(crate) use delays::Delays;
pub(crate) use echo::{Instants, Timeline};
pub(crate) use follow::{Follow, Followed, Measurement};
pub(crate) use gaps::Gaps;
pub(crate) use heat::Heat;
pub(crate) use histogram::Histogram;
pub(crate) use judged::{Cell, Judged, Mark};
pub(crate) use line::Line;
pub(crate) use rates::Rates;
pub(crate) use ratios::{Ratios, Sized};
pub(crate) use sizes::Sizes;
pub(crate) use strain::Strain;

use crate::failure::{bad_argument, cannot_write};
use anyhow::{Context, Result, anyhow, bail};
use ink::{GREY, INK, bold, label};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fs;
use std::path::Path;

/// Where a panel draws.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// One part of a picture.
pub(crate) trait Panel {
    /// Height in pixels.
    fn height(&self) -> u32;

    /// Draws into an area of that height.
    fn draw(&self, area: &Area<'_>) -> Result<()>;
}

/// Panels one below another, under a title that states the finding.
pub(crate) struct Picture {
    /// The finding, as a sentence.
    pub(crate) title: String,
    /// Circumstances and cost, line by line.
    pub(crate) notes: Vec<String>,
    /// From top to bottom.
    pub(crate) panels: Vec<Box<dyn Panel>>,
}

const WIDTH: u32 = 960;
const TITLE: u32 = 56;
const NOTE: u32 = 18;
/// Letters of a note's size that stand beside each other.
const NOTE_LETTERS: usize = 135;

impl Picture {
    /// The panels alone, for a page that tells the rest itself.
    pub(crate) fn drawing(&self) -> Result<String> {
        self.svg(false)
    }

    /// Writes the picture: a name that ends in `.html` gets a page, one in `.svg` the bare picture.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let text = match kind(file)? {
            Kind::Svg => self.svg(true)?,
            Kind::Html => self.page(&self.svg(false)?),
        };
        keep(file, &text)
    }

    /// The panels, with title and notes if they are not told elsewhere.
    fn svg(&self, told: bool) -> Result<String> {
        let text = if told { TITLE + NOTE * self.note_lines().len() as u32 + 14 } else { 0 };
        let height = self.panels.iter().map(|panel| panel.height()).sum::<u32>() + text;
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
            self.draw(&root, told).map_err(|error| anyhow!("cannot draw: {error:#}"))?;
            root.present().map_err(|error| anyhow!("cannot draw: {error}"))?;
        }
        Ok(svg)
    }

    /// The notes, the long ones broken between words: drawn text does not wrap by itself.
    fn note_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for note in &self.notes {
            lines.push(String::new());
            for word in note.split_whitespace() {
                match lines.last_mut() {
                    Some(line) if line.is_empty() => line.push_str(word),
                    Some(line) if line.chars().count() + word.chars().count() < NOTE_LETTERS => {
                        line.push(' ');
                        line.push_str(word);
                    }
                    _ => lines.push(word.to_owned()),
                }
            }
        }
        lines
    }

    fn draw(&self, root: &Area<'_>, told: bool) -> Result<()> {
        root.fill(&WHITE)?;
        let mut rest = root.clone();
        if told {
            // Letters are about 0.6 of their height wide: a long title is set smaller, not cut.
            let room = f64::from(WIDTH - 48) / (0.62 * self.title.chars().count().max(1) as f64);
            rest.draw(&Text::new(self.title.clone(), (24, 18), bold(room.clamp(11.0, 21.0) as u32, INK)))?;
            rest = rest.split_vertically(TITLE).1;
        }
        for panel in &self.panels {
            let (area, below) = rest.split_vertically(panel.height());
            panel.draw(&area)?;
            rest = below;
        }
        for (i, line) in self.note_lines().into_iter().enumerate().filter(|_| told) {
            rest.draw(&Text::new(line, (24, 4 + (NOTE as usize * i) as i32), label(13, GREY)))?;
        }
        Ok(())
    }

    /// A page that needs nothing but itself.
    fn page(&self, svg: &str) -> String {
        let notes: String = self.notes.iter().map(|note| format!("<p>{}</p>\n", escaped(note))).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\
             body {{ font-family: sans-serif; color: #222; background: #fff; max-width: 1000px; margin: 2em auto; padding: 0 1em; }} \
             svg {{ max-width: 100%; height: auto; }} p {{ color: #555; margin: 0.2em 0; }}\
             </style>\n</head>\n<body>\n<h1>{title}</h1>\n{svg}\n<h2>Circumstances</h2>\n{notes}</body>\n</html>\n",
            title = escaped(&self.title),
        )
    }
}

/// Writes a file.
pub(crate) fn keep(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| cannot_write(file))
}

/// What a picture's name asks for.
enum Kind {
    Svg,
    Html,
}

fn kind(file: &Path) -> Result<Kind> {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(Kind::Svg),
        Some("html" | "htm") => Ok(Kind::Html),
        _ => bail!("{}: a picture's name ends in .svg or .html", file.display()),
    }
}

/// Refuses a name that no picture can have, before anything is measured.
pub(crate) fn check_name(file: &Path) -> Result<()> {
    kind(file).map_err(bad_argument)?;
    check_folder(file)
}

/// Refuses a file in a folder that is not there, before anything is measured: it is written when all is.
pub(crate) fn check_folder(file: &Path) -> Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), |folder| fs::metadata(folder).map(|_| ()).with_context(|| cannot_write(file)))
}

/// Text as a page has it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waterfall::Extent;

    fn picture() -> Picture {
        let points = (0..200).map(|i| f64::from(i) * 0.5).map(|x| (x, if x < 60.0 { 20.0 } else { x + 9.0 }));
        let gaps = Gaps {
            points: points.collect(),
            level: Some(20.0),
            offset: Some(9.0),
            stage: Extent::Value { value: 60.0, low: 58.0, high: 62.0 },
        };
        Picture { title: "a < b & c".into(), notes: vec!["here".into()], panels: vec![Box::new(gaps)] }
    }

    #[test]
    fn the_name_decides_the_kind() {
        let folder = tempfile::tempdir().unwrap();
        let (svg, html) = (folder.path().join("a.svg"), folder.path().join("a.html"));
        picture().write(&svg).unwrap();
        picture().write(&html).unwrap();
        let text = fs::read_to_string(svg).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        assert!(text.contains("a &lt; b &amp; c"), "the title is escaped");
        let text = fs::read_to_string(html).unwrap();
        assert!(
            text.starts_with("<!DOCTYPE html>") && text.contains("<svg") && text.contains("<h1>a &lt; b")
        );
        assert!(picture().write(&folder.path().join("deep/a.svg")).is_err(), "no folder is made");
        let error = picture().write(Path::new("a.png")).unwrap_err();
        assert_eq!(error.to_string(), "a.png: a picture's name ends in .svg or .html");
    }

    #[test]
    fn a_long_note_is_broken_between_words_and_loses_none() {
        let note = "one of many words ".repeat(40);
        let picture =
            Picture { title: String::new(), notes: vec![note.clone(), "short".into()], panels: vec![] };
        let lines = picture.note_lines();
        assert!(lines.len() > 3 && lines.iter().all(|line| line.chars().count() <= NOTE_LETTERS));
        assert_eq!(lines.join(" "), note + "short");
    }
}
