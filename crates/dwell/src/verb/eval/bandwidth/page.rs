//! The report as one page that needs nothing but itself.

use super::panels::Figure;
use crate::picture::{Picture, escaped};
use crate::verb::eval::sheet::Sheet;
use anyhow::Result;
use std::fmt::Write as _;

const STYLE: &str = "body { font-family: sans-serif; color: #222; background: #fff; max-width: 1360px; margin: 2em auto; \
     padding: 0 1em; line-height: 1.4; } \
     table { border-collapse: collapse; font-size: 0.82em; margin: 0.5em 0 1.5em; } \
     th, td { text-align: left; padding: 0.25em 0.5em; border-bottom: 1px solid #ddd; vertical-align: top; } \
     th { border-bottom: 2px solid #555; position: sticky; top: 0; background: #fff; } \
     tr:nth-child(even) td { background: #f6f6f6; } td { white-space: nowrap; } td.met { color: #005a3c; } td.missed { color: #9a3a00; } \
     figure { margin: 1.5em 0; } figcaption { color: #444; margin-bottom: 0.4em; } \
     svg { max-width: 100%; height: auto; } .note { color: #555; margin: 0.2em 0; }";

/// The whole page; `notes` are circumstances, line by line.
pub(super) fn page<'a>(
    description: &str,
    tables: impl Iterator<Item = &'a Sheet>,
    figures: Vec<Figure>,
    notes: &[String],
) -> Result<String> {
    let title = "Bandwidth tools against the truth";
    let mut body = format!("<h1>{title}</h1>\n<p>{}</p>\n", escaped(description));
    for table in tables {
        body += &sheet(table);
    }
    for Figure { caption, panel } in figures {
        let drawing = Picture { title: String::new(), notes: Vec::new(), panels: vec![panel] }.drawing()?;
        let _ = writeln!(body, "<figure><figcaption>{}</figcaption>\n{drawing}</figure>", escaped(&caption));
    }
    let _ = writeln!(body, "<h2>Circumstances</h2>");
    for note in notes {
        let _ = writeln!(body, "<p class=\"note\">{}</p>", escaped(note));
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n{body}</body>\n</html>\n"
    ))
}

fn sheet(sheet: &Sheet) -> String {
    let mut text = format!("<h2>{}</h2>\n<table>\n<tr>", escaped(&sheet.title));
    for head in &sheet.heads {
        let _ = write!(text, "<th>{}</th>", escaped(head));
    }
    text += "</tr>\n";
    // The last column of a judgement is its verdict.
    let verdicts = sheet.heads.last().is_some_and(|head| head.starts_with("met"));
    for row in &sheet.rows {
        text += "<tr>";
        for (index, cell) in row.iter().enumerate() {
            let class = match (verdicts && index + 1 == row.len(), cell == "met") {
                (false, _) => "",
                (true, true) => " class=\"met\"",
                (true, false) => " class=\"missed\"",
            };
            let _ = write!(text, "<td{class}>{}</td>", escaped(cell));
        }
        text += "</tr>\n";
    }
    text += "</table>\n";
    for note in &sheet.notes {
        let _ = writeln!(text, "<p class=\"note\">{}</p>", escaped(note));
    }
    text
}
