//! The view that refreshes while connections pass.

use super::table::{self, connection};
use super::taken::Figures;
use anyhow::{Context, Result};
use dwell_core::inside::grouped;
use dwell_core::tcp::Handshake;
use dwell_net::capture::Gauge;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::style::Stylize;
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use std::time::{Duration, Instant};

/// Time from one picture to the next.
const REFRESH: Duration = Duration::from_millis(500);

/// The terminal, which is given back when this is dropped.
pub(super) struct Live {
    terminal: DefaultTerminal,
    shown: Option<Instant>,
}

impl Live {
    pub(super) fn open() -> Result<Self> {
        let terminal = ratatui::try_init().context("cannot use the terminal; --json or a pipe needs none")?;
        Ok(Self { terminal, shown: None })
    }

    /// Shows the run so far, where it is time to. Returns whether somebody asked to end it.
    pub(super) fn show(
        &mut self,
        probe: &str,
        span: Duration,
        figures: &Figures,
        latest: &[Handshake],
        gauge: &mut Gauge,
    ) -> Result<bool> {
        if self.shown.is_none_or(|shown| shown.elapsed() >= REFRESH) {
            self.shown = Some(Instant::now());
            let view = view(probe, span, figures, latest, gauge);
            self.terminal.draw(|frame| frame.render_widget(Paragraph::new(view), frame.area()))?;
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

fn view(
    probe: &str,
    span: Duration,
    figures: &Figures,
    latest: &[Handshake],
    gauge: &mut Gauge,
) -> Text<'static> {
    let (handshakes, seconds) = (figures.handshakes.handshakes(), span.as_secs_f64());
    let rate = handshakes as f64 / seconds.max(1e-3);
    let head = format!(
        "dwell watch: {probe}; {} handshakes in {seconds:.1} s, {rate:.0}/s; q ends it",
        grouped(handshakes)
    );
    let mut text = Text::from(Line::from(head).bold());
    let mut add = |part: &str| part.lines().for_each(|line| text.push_line(line.to_owned()));
    add(&table::kernel(&gauge.counts()));
    add("\n");
    add(&table::figures(figures));
    add("\n");
    latest.iter().rev().for_each(|handshake| add(&connection(handshake)));
    text
}
