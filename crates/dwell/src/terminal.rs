//! A view that fills the terminal, and refreshes while something passes.

use anyhow::{Context, Result};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::style::Stylize;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};
use std::time::{Duration, Instant};

/// Time from one picture to the next.
const REFRESH: Duration = Duration::from_millis(500);

/// What it shows.
pub(crate) struct View {
    pub(crate) head: String,
    /// One below the other, each from a line of its own on.
    pub(crate) parts: Vec<String>,
}

/// The terminal, which is given back when this is dropped.
pub(crate) struct Live {
    terminal: DefaultTerminal,
    shown: Option<Instant>,
}

impl Live {
    pub(crate) fn open() -> Result<Self> {
        let terminal = ratatui::try_init().context("cannot use the terminal; --json or a pipe needs none")?;
        Ok(Self { terminal, shown: None })
    }

    /// Shows the run so far, where it is time to. Returns whether somebody asked to end it.
    pub(crate) fn show(&mut self, view: impl FnOnce() -> View) -> Result<bool> {
        if self.shown.is_none_or(|shown| shown.elapsed() >= REFRESH) {
            self.shown = Some(Instant::now());
            let View { head, parts } = view();
            let mut text = Text::from(Line::from(head).bold());
            parts.iter().flat_map(|part| part.lines()).for_each(|line| text.push_line(line));
            let page = Paragraph::new(text).wrap(Wrap { trim: false });
            self.terminal.draw(|frame| frame.render_widget(page, frame.area()))?;
        }
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()? {
                let interrupt =
                    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                if interrupt || key.code == KeyCode::Char('q') {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
