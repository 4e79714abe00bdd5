//! Counts of what happened in campaigns.

use crate::support::Home;
use std::fmt;

macro_rules! counts {
    ($($name:ident: $text:literal),* $(,)?) => {
        /// Counts of what happened.
        #[derive(Clone, Debug, Default)]
        pub struct CampaignCounts {
            $(pub $name: u64,)*
        }

        impl CampaignCounts {
            pub fn add(&mut self, other: &CampaignCounts) {
                $(self.$name += other.$name;)*
            }
        }

        impl fmt::Display for CampaignCounts {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(write!(f, "{} {}, ", self.$name, $text)?;)*
                write!(f, "0 forgotten")
            }
        }
    };
}

counts! {
    seeds: "seeds",
    hours: "hours by the clock",
    messages: "messages",
    owed: "deliveries owed",
    attempts: "requests to receivers",
    delivered: "delivered when it was quiet",
    dead: "dead then",
    replayed_at_the_end: "of these delivered by a replay",
    dropped: "dropped by filters or age",
    pauses: "pauses by people",
    error_pauses: "pauses by errors",
    resumed: "resumed by people",
    probed: "resumed by a probe when it was quiet",
    filters: "filter changes",
    limits: "limits changed",
    replays: "replays",
    replayed: "messages replayed",
    resends: "messages sent again",
    renewed: "subscriptions removed and made anew",
    moods: "changes of what a URL answers",
    stopped: "nodes stopped",
    lost: "nodes lost",
}

impl CampaignCounts {
    /// Fails if something never happened, because then the campaigns show nothing about it.
    pub fn assert_all_happened(&self, home: Home, seeds: u64) {
        if seeds < 10 {
            return;
        }
        let all = [
            self.messages,
            self.delivered,
            self.dead,
            self.replayed_at_the_end,
            self.pauses,
            self.error_pauses,
            self.resumed,
            self.filters,
            self.replayed,
            self.resends,
            self.stopped,
            self.lost,
        ];
        assert!(all.iter().all(|count| *count > 0), "{home:?}: something never happened: {self}");
    }
}
