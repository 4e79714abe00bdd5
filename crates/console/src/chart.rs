//! Drawings, made here as SVG.
//!
//! A drawing is for the eye; what it shows is also in the title of each mark, and pages put a table beside it. Colours are
//! classes, so that light and dark are the style sheet's. Heights are places on a drawing, not amounts: amounts come with
//! their words.

use std::fmt::Write;

/// The width of every drawing, in its own units.
const WIDTH: f64 = 640.0;
/// The height of every drawing.
const HEIGHT: f64 = 170.0;
/// Room at the left edge; and for words below and above. What the top line stands for is written above it, where it may
/// be as long and as large as it likes.
const LEFT: f64 = 2.0;
const BELOW: f64 = 22.0;
const ABOVE: f64 = 24.0;
/// Half as wide as words below a column can be.
const EDGE: f64 = 40.0;

/// A column of a bar chart.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What stands below it; empty for nothing.
    pub label: String,
    /// Its parts from the bottom: class, size, words.
    pub parts: Vec<Part>,
}

/// A part of a column.
#[derive(Clone, Debug)]
pub struct Part {
    /// The class of its colour.
    pub class: &'static str,
    /// Its size, for drawing.
    pub size: u64,
    /// What it is, in words.
    pub words: String,
}

/// Columns side by side. `top` says what the largest is, in words.
pub fn bars(title: &str, bars: &[Bar], top: impl Fn(u64) -> String) -> String {
    let tallest = bars.iter().map(|bar| bar.parts.iter().map(|part| part.size).sum::<u64>()).max().unwrap_or(0).max(1);
    let mut svg = begin(title);
    axis(&mut svg, &top(tallest));
    let step = (WIDTH - LEFT) / bars.len().max(1) as f64;
    for (index, bar) in bars.iter().enumerate() {
        let x = LEFT + step * index as f64;
        let mut floor = HEIGHT - BELOW;
        for part in bar.parts.iter().filter(|part| part.size > 0) {
            let height = ((HEIGHT - BELOW - ABOVE) * part.size as f64 / tallest as f64).max(1.5);
            floor -= height;
            let _ = write!(
                svg,
                r#"<rect class="{}" x="{:.1}" y="{floor:.1}" width="{:.1}" height="{height:.1}" rx="1.5"><title>{}</title></rect>"#,
                part.class,
                x + step * 0.12,
                step * 0.76,
                escaped(&part.words)
            );
        }
        if !bar.label.is_empty() {
            let (at, anchor) = match x + step / 2.0 {
                // Words in the middle of a column at an edge would be cut off there.
                _ if index + 1 == bars.len() => (WIDTH, "end"),
                middle if middle < EDGE => (LEFT, "start"),
                middle => (middle, "middle"),
            };
            label(&mut svg, at, HEIGHT - 6.0, anchor, &bar.label);
        }
    }
    end(svg)
}

/// A point of a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// How far along, for drawing.
    pub at: i64,
    /// How high, for drawing.
    pub size: i64,
    /// What it is, in words.
    pub words: String,
}

/// A line in steps: a balance stays what it is until something changes it. `now` marks a place along it.
pub fn steps(
    title: &str,
    points: &[Point],
    now: Option<i64>,
    ends: (&str, &str),
    top: impl Fn(i64) -> String,
) -> String {
    let mut svg = begin(title);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return end(svg) };
    let highest = points.iter().map(|point| point.size).max().unwrap_or(0).max(1);
    axis(&mut svg, &top(highest));
    let length = (last.at - first.at).max(1) as f64;
    let x = |at: i64| LEFT + (WIDTH - LEFT - 8.0) * ((at - first.at) as f64 / length).clamp(0.0, 1.0);
    let y = |size: i64| HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * (size.max(0) as f64 / highest as f64);
    let mut path = format!("M{:.1} {:.1}", x(first.at), y(first.size));
    for point in points.iter().skip(1) {
        let _ = write!(path, "H{:.1}V{:.1}", x(point.at), y(point.size));
    }
    let floor = HEIGHT - BELOW;
    let _ =
        write!(svg, r#"<path class="area" d="{path}V{floor}H{:.1}Z"/><path class="line" d="{path}"/>"#, x(first.at));
    for point in points {
        let _ = write!(
            svg,
            r#"<circle class="dot" cx="{:.1}" cy="{:.1}" r="2.5"><title>{}</title></circle>"#,
            x(point.at),
            y(point.size),
            escaped(&point.words)
        );
    }
    if let Some(at) = now.filter(|at| (first.at..=last.at).contains(at)) {
        let _ = write!(svg, r#"<path class="now" d="M{:.1} {ABOVE}V{floor}"/>"#, x(at));
    }
    label(&mut svg, LEFT, HEIGHT - 6.0, "start", ends.0);
    label(&mut svg, WIDTH - 8.0, HEIGHT - 6.0, "end", ends.1);
    end(svg)
}

fn begin(title: &str) -> String {
    let title = escaped(title);
    format!(
        r#"<div class="drawing"><svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}"><title>{title}</title>"#
    )
}

fn end(svg: String) -> String {
    svg + "</svg></div>"
}

fn axis(svg: &mut String, top: &str) {
    let floor = HEIGHT - BELOW;
    let _ = write!(svg, r#"<path class="axis" d="M{LEFT} {floor}H{WIDTH}M{LEFT} {ABOVE}H{WIDTH}"/>"#);
    label(svg, LEFT, ABOVE - 7.0, "start", top);
}

fn label(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = write!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#, escaped(text));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_no_harm_and_every_part_is_drawn() {
        let part = |size| Part { class: "good", size, words: "<script>alert(1)</script>".to_owned() };
        let columns = [Bar { label: "<b>".to_owned(), parts: vec![part(1), part(0), part(1_000_000)] }];
        let svg = bars("\"quoted\"", &columns, |top| top.to_string());
        assert!(!svg.contains("<script") && !svg.contains("<b>"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 2, "{svg}");
    }

    #[test]
    fn a_line_of_nothing_and_of_one_point_is_a_drawing_too() {
        let point = Point { at: 5, size: 0, words: "nothing".to_owned() };
        for points in [vec![], vec![point]] {
            let svg = steps("Balance", &points, None, ("a", "b"), |top| top.to_string());
            assert!(svg.ends_with("</svg></div>") && !svg.contains("NaN"), "{svg}");
        }
    }
}
