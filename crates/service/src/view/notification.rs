//! Configurable notices of an account.

use super::time::Local;
use crate::form::fields::{DayOffset, IntervalText, NotificationType, TimeOfDayText};
use daybook_engine::notify::When;
use daybook_engine::pending_notice::Pending;
use daybook_engine::zone::Zone;
use serde::Serialize;
use utoipa::ToSchema;

/// A notice that is configured for an account.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NotificationSetting {
    /// Its type.
    pub notification_type: NotificationType,
    /// The number of days after the date it is about; null if it has an interval.
    pub time_offset: Option<DayOffset>,
    /// The interval between notices; null if it has an offset.
    pub interval: Option<IntervalText>,
    /// The time of day, in the product's time zone; null for the time of the event it is about.
    pub time: Option<TimeOfDayText>,
    /// Whether it is on.
    pub enabled: bool,
    /// When it is sent next; null if it is not sent again.
    pub next_at: Option<Local>,
}

impl NotificationSetting {
    /// The view of a configured notice.
    pub fn new(pending: &Pending, zone: &Zone) -> NotificationSetting {
        let setting = &pending.setting;
        let (time_offset, interval) = match setting.when {
            When::Offset(days) => (Some(DayOffset::known(days)), None),
            When::Every(interval) => (None, Some(IntervalText::known(interval))),
        };
        NotificationSetting {
            notification_type: setting.kind.into(),
            time_offset,
            interval,
            time: setting.time.map(TimeOfDayText::known),
            enabled: setting.enabled,
            next_at: pending.next_at().map(|at| Local::new(at, zone)),
        }
    }
}
