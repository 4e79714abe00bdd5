//! Amounts of money in readable form.

/// Parses `10000`, `12,500.50` or `0.5` as cents. `None` if the text is not an exact amount.
pub fn cents_of(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let are_groups = groups.len() == 1 || groups.iter().skip(1).all(|group| group.len() == 3);
    let digits = groups.concat();
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if digits.is_empty() || !are_groups || !is_number(&digits) || !is_number(part) || part.len() > 2 {
        return None;
    }
    let part = format!("{part:0<2}");
    digits.parse::<i64>().ok()?.checked_mul(100)?.checked_add(part.parse().ok()?)
}

/// Cents as `12,500.50`.
pub fn shown(cents: i64) -> String {
    let (whole, part) = ((cents / 100).unsigned_abs().to_string(), (cents % 100).abs());
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{grouped}.{part:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly_or_not_at_all() {
        for (text, cents) in [("10000", 1_000_000), ("12,500.50", 1_250_050), ("0.5", 50), ("1.", 100), ("0.07", 7)] {
            assert_eq!(cents_of(text), Some(cents), "{text}");
        }
        for text in ["", ".", ".5", "-1", "1.005", "1,00", "12,5000", "1e3", "ten", "99999999999999999999"] {
            assert_eq!(cents_of(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_with_their_thousands() {
        for (cents, text) in
            [(0, "0.00"), (7, "0.07"), (-50, "-0.50"), (123_456_789, "1,234,567.89"), (10_000, "100.00")]
        {
            assert_eq!(shown(cents), text);
        }
    }
}
