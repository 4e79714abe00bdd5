//! Checks quotes against RFC 4180 while a file is read.
//!
//! A value may be in double quotes; then it begins and ends with one, and each quote inside is doubled. The CSV reader
//! is lenient and accepts `5" pipe` and `"5"" pipe"x`. A misread name may be noticed only months later, so a quote in
//! any other place is an error here. The bytes pass through unchanged.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

/// A misplaced quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Its offset in the file, in bytes.
    pub at: u64,
    /// Its line, from 1.
    pub line: u64,
    /// The column of its value, from 0.
    pub place: usize,
    /// The error, as a sentence about the value.
    pub rule: &'static str,
}

const INSIDE: &str = "has a quote inside a value that does not begin with one: put the value in double quotes, and double \
    each quote inside";
const AFTER: &str = "has text after its closing quote: double each quote inside the value";

/// The misplaced quotes found in the part read so far, in order.
#[derive(Clone, Debug, Default)]
pub struct Strays(Rc<RefCell<VecDeque<Stray>>>);

impl Strays {
    /// Removes all misplaced quotes before an offset and returns the first.
    pub fn take_before(&self, at: u64) -> Option<Stray> {
        let mut found = self.0.borrow_mut();
        let mut first = None;
        while found.front().is_some_and(|stray| stray.at < at) {
            let stray = found.pop_front();
            first = first.or(stray);
        }
        first
    }
}

/// The parser's state before the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// At the beginning of a value.
    Start,
    /// In a value without quotes.
    Plain,
    /// In a value with quotes.
    Quoted,
    /// After a quote in a quoted value: it ends the value, or another quote follows.
    Closing,
    /// In an invalid value, which is reported once.
    Wrong,
}

/// A reader that finds misplaced quotes.
#[derive(Debug)]
pub struct QuoteChecker<R> {
    inner: R,
    strays: Strays,
    at: u64,
    line: u64,
    place: usize,
    state: Where,
    after_return: bool,
}

impl<R> QuoteChecker<R> {
    /// Wraps a reader.
    pub fn new(inner: R, strays: Strays) -> QuoteChecker<R> {
        QuoteChecker { inner, strays, at: 0, line: 1, place: 0, state: Where::Start, after_return: false }
    }

    fn look(&mut self, byte: u8) {
        let ends_line = byte == b'\n' || byte == b'\r';
        if ends_line && !(byte == b'\n' && self.after_return) {
            self.line += 1;
        }
        self.after_return = byte == b'\r';
        let is_open = self.state == Where::Quoted;
        self.state = match (self.state, byte) {
            (_, b',') if !is_open => {
                self.place += 1;
                Where::Start
            }
            (_, b'\n' | b'\r') if !is_open => {
                self.place = 0;
                Where::Start
            }
            (Where::Start, b'"') => Where::Quoted,
            (Where::Plain, b'"') => self.stray(INSIDE),
            (Where::Start | Where::Plain, _) => Where::Plain,
            (Where::Quoted, b'"') => Where::Closing,
            (Where::Closing, b'"') => Where::Quoted,
            (Where::Closing, _) => self.stray(AFTER),
            (state, _) => state,
        };
        self.at += 1;
    }

    fn stray(&self, rule: &'static str) -> Where {
        let stray = Stray { at: self.at, line: self.line, place: self.place, rule };
        self.strays.0.borrow_mut().push_back(stray);
        Where::Wrong
    }
}

impl<R: Read> Read for QuoteChecker<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for byte in buffer.iter().take(count) {
            self.look(*byte);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strays(text: &str) -> Vec<(u64, usize, &'static str)> {
        let found = Strays::default();
        let mut out = String::new();
        QuoteChecker::new(text.as_bytes(), found.clone()).read_to_string(&mut out).expect("it is read");
        assert_eq!(out, text, "the bytes pass through");
        let found = found.0.borrow();
        found.iter().map(|stray| (stray.line, stray.place, stray.rule)).collect()
    }

    #[test]
    fn quotes_that_are_right_are_let_through() {
        for text in ["a,b\n1,2\n", "\"a\",\"b, c\"\r\n\"\",\"say \"\"hi\"\"\"\r\n", "\"one\ntwo\",x", "a,\"\"\n"] {
            assert_eq!(strays(text), [], "{text}");
        }
    }

    #[test]
    fn a_quote_at_another_place_is_found_once_a_value() {
        for (text, line, place, rule) in [
            ("a,b\n1,5\" pipe \"x\"\n", 2, 1, INSIDE),
            ("a\n\n\n \"x\"\n", 4, 0, INSIDE),
            ("\"x\"y,2\r\n", 1, 0, AFTER),
            ("a\r\n\"x\" ,2\r\n", 2, 0, AFTER),
            ("\"one\ntwo\"x,2\n", 2, 0, AFTER),
        ] {
            assert_eq!(strays(text), [(line, place, rule)], "{text}");
        }
    }

    #[test]
    fn strays_are_taken_row_by_row() {
        let found = Strays::default();
        let text = "a\"b\nc\nd\"e,f\"g\n";
        let mut watched = QuoteChecker::new(text.as_bytes(), found.clone());
        watched.read_to_end(&mut Vec::new()).expect("it is read");
        assert_eq!(found.take_before(4).map(|stray| (stray.line, stray.place)), Some((1, 0)));
        assert_eq!(found.take_before(6), None);
        assert_eq!(found.take_before(100).map(|stray| (stray.line, stray.place)), Some((3, 0)));
        assert_eq!(found.take_before(100), None);
    }
}
