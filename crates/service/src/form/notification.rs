//! Configurable notices of an account.

use super::fields::*;
use super::{FieldProblem, form};
use daybook_engine::calendar::Interval;
use daybook_engine::notify::{Setting, When};

form! {
    /// Configures a notice of an account.
    NotificationConfig {
        /// The type of the notice.
        notification_type: NotificationType,
        ;
        /// The number of days after the date it is about; negative for days before it. For all types except
        /// `account_summary`.
        time_offset: DayOffset,
        /// The interval between notices. For `account_summary`.
        interval: IntervalText,
        /// The time of day, in the product's time zone. Default: the time of the event it is about.
        time: TimeOfDayText,
        /// False turns it off. Default: true.
        enabled: bool,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
    }
}

impl NotificationConfig {
    /// The setting, or an error if its fields contradict each other.
    pub fn setting(&self) -> Result<Setting, FieldProblem> {
        let setting = Setting {
            kind: self.notification_type.into(),
            when: self.when()?,
            time: self.time.as_ref().map(|time| *time.get()),
            enabled: self.enabled.unwrap_or(true),
        };
        let field = if self.is_summary() { "interval" } else { "time_offset" };
        setting.check().map_err(|rule| FieldProblem::new(field, rule.trim_start_matches(field).trim_start()))?;
        Ok(setting)
    }

    fn is_summary(&self) -> bool {
        self.notification_type == NotificationType::AccountSummary
    }

    fn when(&self) -> Result<When, FieldProblem> {
        let name = self.notification_type.name();
        match (self.is_summary(), &self.interval, &self.time_offset) {
            (true, _, Some(_)) => {
                Err(FieldProblem::new("time_offset", format!("is not allowed for {name}; give an interval instead")))
            }
            (false, Some(_), _) => {
                Err(FieldProblem::new("interval", format!("is not allowed for {name}; give a time_offset instead")))
            }
            (true, Some(interval), None) => Ok(When::Every(*interval.get())),
            // An account has at most one summary, so switching it off needs no interval.
            (true, None, None) if self.enabled == Some(false) => Ok(When::Every(Interval::months(1))),
            (true, None, None) => Err(FieldProblem::new("interval", format!("is required for {name}"))),
            (false, None, Some(offset)) => Ok(When::Offset(*offset.get())),
            (false, None, None) => Err(FieldProblem::new("time_offset", format!("is required for {name}"))),
        }
    }
}
