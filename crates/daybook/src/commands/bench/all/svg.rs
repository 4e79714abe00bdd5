//! Draws charts as SVG: lines over a logarithmic or linear axis, and horizontal bars.
//!
//! Everything is text and shapes, without scripts, fonts or links, and with a white background, so that a chart can be
//! read on any page.

use super::spread::{Spread, number};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// The space around the plotted area: for the title and the legend, the axes and their labels.
const TOP: f64 = 64.0;
const BOTTOM: f64 = 52.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
/// The height of a bar and of the space below a group of bars.
const BAR: f64 = 13.0;
const BAR_GAP: f64 = 9.0;
/// The width of the labels of bars.
const BAR_LABELS: f64 = 230.0;
/// The average width of a letter of the legend.
const LETTER: f64 = 6.8;
const COLORS: [&str; 4] = ["#1b6ca8", "#c0562a", "#1b6ca8", "#c0562a"];

/// A chart of lines.
#[derive(Debug)]
pub struct LineChart {
    /// The title.
    pub title: &'static str,
    /// What the horizontal axis shows, with its unit.
    pub x_label: &'static str,
    /// What the vertical axis shows, with its unit.
    pub y_label: &'static str,
    /// Whether the horizontal axis is logarithmic.
    pub is_logarithmic: bool,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a chart.
#[derive(Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Whether it is a limit, which is drawn dashed.
    pub is_limit: bool,
    /// Its points.
    pub points: Vec<(f64, Spread)>,
}

/// A chart of horizontal bars, several for each label.
#[derive(Debug)]
pub struct BarChart {
    /// The title.
    pub title: &'static str,
    /// What the axis shows, with its unit.
    pub x_label: &'static str,
    /// The names in the legend.
    pub names: Vec<String>,
    /// For each label, the size of the bar of each name.
    pub bars: Vec<(String, Vec<f64>)>,
}

impl LineChart {
    /// The chart as SVG; `None` if it has no points.
    pub fn draw(&self) -> Option<String> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let (least, most) = points
            .clone()
            .map(|(x, _)| *x)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(x), most.max(x)));
        if !least.is_finite() {
            return None;
        }
        let scale = XScale { least, most, is_logarithmic: self.is_logarithmic };
        let top = points.map(|(_, spread)| spread.largest).fold(0.0, f64::max);
        let ticks = ticks(top);
        let highest = ticks.last().copied().unwrap_or(1.0);
        let y = |value: f64| HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM);
        let mut svg = begin(HEIGHT, self.title);
        for tick in &ticks {
            rule(&mut svg, (LEFT, y(*tick)), (WIDTH - RIGHT, y(*tick)));
            text(&mut svg, (LEFT - 8.0, y(*tick) + 4.0), "end", &number_of_tick(*tick));
        }
        for tick in scale.ticks() {
            rule(&mut svg, (scale.place(tick), HEIGHT - BOTTOM), (scale.place(tick), HEIGHT - BOTTOM + 5.0));
            text(&mut svg, (scale.place(tick), HEIGHT - BOTTOM + 19.0), "middle", &number_of_tick(tick));
        }
        text(&mut svg, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10.0), "middle", self.x_label);
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let label = escaped(self.y_label);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(16 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{label}</text>"
        );
        for (line, color) in self.lines.iter().zip(COLORS.iter().cycle()) {
            line.draw(&mut svg, color, |x| scale.place(x), y);
        }
        let names = self.lines.iter().map(|line| (line.name.as_str(), line.is_limit));
        legend(&mut svg, &names.collect::<Vec<_>>());
        Some(end(svg))
    }
}

impl Line {
    fn draw(&self, svg: &mut String, color: &str, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) {
        let path: Vec<String> =
            self.points.iter().map(|(at, spread)| format!("{:.1},{:.1}", x(*at), y(spread.median))).collect();
        let dashes = if self.is_limit { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dashes}/>",
            path.join(" ")
        );
        for (at, spread) in &self.points {
            let (x, low, high) = (x(*at), y(spread.smallest), y(spread.largest));
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{low:.1}\" x2=\"{x:.1}\" y2=\"{high:.1}\" stroke=\"{color}\"/>\
                 <circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"{color}\"/>",
                y(spread.median)
            );
        }
    }
}

impl BarChart {
    /// The chart as SVG; `None` if it has no bars.
    pub fn draw(&self) -> Option<String> {
        let longest = self.bars.iter().flat_map(|(_, sizes)| sizes).copied().fold(0.0, f64::max);
        if longest <= 0.0 {
            return None;
        }
        let ticks = ticks(longest);
        let highest = ticks.last().copied().unwrap_or(1.0);
        let x = |size: f64| BAR_LABELS + size / highest * (WIDTH - RIGHT - BAR_LABELS);
        let group = BAR * self.names.len() as f64 + BAR_GAP;
        let bottom = TOP + group * self.bars.len() as f64;
        let mut svg = begin(bottom + BOTTOM, self.title);
        for tick in &ticks {
            rule(&mut svg, (x(*tick), TOP), (x(*tick), bottom));
            text(&mut svg, (x(*tick), bottom + 17.0), "middle", &number_of_tick(*tick));
        }
        text(&mut svg, ((BAR_LABELS + WIDTH - RIGHT) / 2.0, bottom + 40.0), "middle", self.x_label);
        for (place, (label, sizes)) in self.bars.iter().enumerate() {
            let top = TOP + group * place as f64;
            text(&mut svg, (BAR_LABELS - 8.0, top + (group - BAR_GAP) / 2.0 + 4.0), "end", label);
            for (number, (size, color)) in sizes.iter().zip(COLORS.iter().cycle()).enumerate() {
                let (y, width) = (top + BAR * number as f64, x(*size) - BAR_LABELS);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{BAR_LABELS}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{color}\"/>",
                    BAR - 2.0
                );
            }
        }
        legend(&mut svg, &self.names.iter().map(|name| (name.as_str(), false)).collect::<Vec<_>>());
        Some(end(svg))
    }
}

/// The places of values on a horizontal axis.
struct XScale {
    least: f64,
    most: f64,
    is_logarithmic: bool,
}

impl XScale {
    fn place(&self, value: f64) -> f64 {
        let (from, to) = (LEFT + 14.0, WIDTH - RIGHT - 14.0);
        if self.most <= self.least {
            return (from + to) / 2.0;
        }
        let part = match self.is_logarithmic {
            true => (value / self.least).ln() / (self.most / self.least).ln(),
            false => (value - self.least) / (self.most - self.least),
        };
        from + part * (to - from)
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return ticks(self.most).into_iter().filter(|tick| (self.least..=self.most).contains(tick)).collect();
        }
        let powers = (self.least.log10().floor() as i32)..=(self.most.log10().ceil() as i32);
        let round: Vec<f64> =
            powers.map(|power| 10_f64.powi(power)).filter(|tick| (self.least..=self.most).contains(tick)).collect();
        if round.len() < 2 { vec![self.least, self.most] } else { round }
    }
}

/// Round numbers from 0 to at least this.
fn ticks(most: f64) -> Vec<f64> {
    if most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let power = 10_f64.powf((most / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|part| part * power).find(|step| step * 5.0 >= most);
    let step = step.unwrap_or(power * 10.0);
    (0..=(most / step).ceil() as u32).map(|count| f64::from(count) * step).collect()
}

fn number_of_tick(tick: f64) -> String {
    // Ticks are round: only small ones have digits after the point.
    if tick.fract().abs() < 1e-9 { number(tick).split('.').next().unwrap_or_default().to_owned() } else { number(tick) }
}

fn begin(height: f64, title: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"{title}\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n"
    )
}

fn end(svg: String) -> String {
    svg + "</svg>\n"
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#d8d8d8\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{words}</text>", at.0, at.1);
}

/// The names of the lines, in a row below the title. Limits are dashed.
fn legend(svg: &mut String, names: &[(&str, bool)]) {
    let mut x = 16.0;
    for ((name, is_limit), color) in names.iter().zip(COLORS.iter().cycle()) {
        let dashes = if *is_limit { " stroke-dasharray=\"6 4\"" } else { "" };
        let end = x + 24.0;
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"43\" x2=\"{end:.1}\" y2=\"43\" stroke=\"{color}\" stroke-width=\"3\"{dashes}/>"
        );
        text(svg, (x + 30.0, 47.0), "start", name);
        x += 50.0 + LETTER * name.chars().count() as f64;
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)]) -> LineChart {
        let points = points.iter().filter_map(|(x, y)| Some((*x, Spread::of([*y])?))).collect();
        let lines = vec![Line { name: "SQLite".to_owned(), is_limit: false, points }];
        LineChart { title: "Rates", x_label: "payments", y_label: "payments/s", is_logarithmic: true, lines }
    }

    #[test]
    fn ticks_are_round_and_reach_the_largest_value() {
        assert_eq!(ticks(17_300.0), [0.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0]);
        assert_eq!(ticks(0.9), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        assert_eq!([0.4, 20_000.0, 5.0].map(number_of_tick), ["0.40", "20,000", "5"]);
    }

    #[test]
    fn a_point_is_where_its_values_say() {
        let scale = XScale { least: 10_000.0, most: 1_000_000.0, is_logarithmic: true };
        assert_eq!(scale.place(100_000.0), (scale.place(10_000.0) + scale.place(1_000_000.0)) / 2.0);
        let svg = chart(&[(10_000.0, 10.0), (1_000_000.0, 20.0)]).draw().expect("a chart");
        // 20 of 20 is at the top of the area, 10 in the middle of it.
        assert!(svg.contains("cx=\"98.0\" cy=\"206.0\"") && svg.contains("cx=\"682.0\" cy=\"64.0\""), "{svg}");
        assert!(svg.contains(">10,000<") && svg.contains(">1,000,000<") && svg.contains(">payments/s<"), "{svg}");
    }

    #[test]
    fn a_chart_without_points_is_not_drawn() {
        assert_eq!(chart(&[]).draw(), None);
        let bars = BarChart { title: "Bytes", x_label: "bytes", names: Vec::new(), bars: Vec::new() };
        assert_eq!(bars.draw(), None);
    }

    #[test]
    fn bars_are_as_long_as_their_sizes() {
        let names = vec!["SQLite".to_owned(), "a<b".to_owned()];
        let bars = vec![("messages".to_owned(), vec![100.0, 50.0])];
        let svg = BarChart { title: "Bytes", x_label: "bytes", names, bars }.draw().expect("a chart");
        assert!(svg.contains("width=\"466.0\"") && svg.contains("width=\"233.0\""), "{svg}");
        assert!(svg.contains(">a&lt;b<") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
