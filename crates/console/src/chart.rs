//! Charts, rendered as SVG.
//!
//! Every value in a chart is also in the title of its mark, and pages show a table next to the chart. Colours are CSS
//! classes, so the style sheet defines the light and dark themes. The numbers here are positions on the chart, not
//! amounts of money: each amount has its own text.

use std::fmt::Write;

/// The width of every chart, in SVG units.
const WIDTH: f64 = 640.0;
/// The height of every chart, in SVG units.
const HEIGHT: f64 = 170.0;
/// Margins: on the left, and for the text below and above the chart. The value of the top line is written above it, so
/// that it can have any length.
const LEFT: f64 = 2.0;
const BELOW: f64 = 22.0;
const ABOVE: f64 = 24.0;
/// Half of the greatest width of a label below a bar.
const EDGE: f64 = 40.0;

/// A bar of a bar chart.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The label below the bar; may be empty.
    pub label: String,
    /// The segments of the bar, from bottom to top.
    pub parts: Vec<BarSegment>,
}

/// A segment of a bar.
#[derive(Clone, Debug)]
pub struct BarSegment {
    /// The CSS class of its colour.
    pub class: &'static str,
    /// Its height, relative to the other segments.
    pub size: u64,
    /// The text of its title.
    pub words: String,
}

/// Draws a bar chart. `top` formats the greatest value.
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
                // A centred label of a bar at an edge would be cut off.
                _ if index + 1 == bars.len() => (WIDTH, "end"),
                middle if middle < EDGE => (LEFT, "start"),
                middle => (middle, "middle"),
            };
            label(&mut svg, at, HEIGHT - 6.0, anchor, &bar.label);
        }
    }
    end(svg)
}

/// A point of a line chart.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its horizontal position.
    pub at: i64,
    /// Its vertical position.
    pub size: i64,
    /// The text of its title.
    pub words: String,
}

/// Draws a step chart: a balance stays the same until an event changes it. `now` marks a position on the time axis.
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
        let part = |size| BarSegment { class: "good", size, words: "<script>alert(1)</script>".to_owned() };
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
